"""The Django project which runs the outbox: settings from the environment, URLs and server entry points."""
