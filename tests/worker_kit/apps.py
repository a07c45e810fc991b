from django.apps import AppConfig


class WorkerKitConfig(AppConfig):
    name = "tests.worker_kit"

    def ready(self) -> None:
        from tests import executors  # noqa: F401  (registers them)
        from tests.worker_kit import disturbances

        disturbances.install()
