"""Threads that begin at the same instant, each with database connections of its own."""

import threading
from collections.abc import Callable
from typing import Any

from django.db import connections

WAIT_SECONDS = 60


def together(*calls: Callable[[], Any]) -> list[Any]:
    """Run all calls at once; returns, in their order, what each returned or the exception that it raised."""
    barrier = threading.Barrier(len(calls))
    answers: list[Any] = [None] * len(calls)

    def run(number: int, call: Callable[[], Any]) -> None:
        try:
            barrier.wait(WAIT_SECONDS)
            answers[number] = call()
        except Exception as error:
            answers[number] = error
        finally:
            connections.close_all()

    threads = [threading.Thread(target=run, args=numbered, daemon=True) for numbered in enumerate(calls)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WAIT_SECONDS)
        assert not thread.is_alive(), "a call never came back"
    return answers


def elsewhere(call: Callable[[], Any]) -> Any:
    """Run a call on another thread, and so on another connection; returns its answer, or raises its exception."""
    answer = together(call)[0]
    if isinstance(answer, Exception):
        raise answer
    return answer


class Background:
    """A call that runs on a thread of its own until the block ends; what it raised is raised there."""

    def __init__(self, call: Callable[[], Any]) -> None:
        self._call = call
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._error: Exception | None = None
        self.answer: Any = None

    def __enter__(self) -> "Background":
        self._thread.start()
        return self

    def __exit__(self, *problem: object) -> None:
        self.wait()

    def wait(self) -> Any:
        self._thread.join(WAIT_SECONDS)
        assert not self._thread.is_alive(), "the background call never came back"
        if self._error is not None:
            raise self._error
        return self.answer

    def _run(self) -> None:
        try:
            self.answer = self._call()
        except Exception as error:
            self._error = error
        finally:
            connections.close_all()
