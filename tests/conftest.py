"""Fixtures for every test: a scripted target, and batches named by the state that they are in."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from outbox import barriers
from tests import executors, factories
from tests.dying import die_in_step
from tests.executors import Target
from tests.invariants import assert_invariants
from transitions.models import Execution, Transition


@pytest.fixture
def target(tmp_path: Path, settings) -> Iterator[Target]:
    """The fake target; new batches go to it while the test runs, and the tables are looked at when it ends."""
    settings.OUTBOX = {**settings.OUTBOX, "EXECUTOR_CODE": "test-keyed:v1"}
    yield executors.use_folder(tmp_path)
    executors.leave_folder()


@pytest.fixture
def checked(transactional_db) -> Iterator[None]:
    """For every case: the invariants hold when the test is over."""
    yield
    assert_invariants()


@pytest.fixture(autouse=True)
def no_hook_left_behind() -> Iterator[None]:
    yield
    assert barriers.hook is None


@pytest.fixture
def transition(db, target: Target) -> Transition:
    """Planned, never executed: three steps, forward and reverse."""
    return factories.TransitionFactory()


@pytest.fixture
def queued_execution(transition: Transition) -> Execution:
    return factories.execute(transition)


@pytest.fixture
def succeeded_execution(transactional_db, queued_execution: Execution) -> Execution:
    factories.drain()
    return _ended(queued_execution, "SUCCEEDED")


@pytest.fixture
def failed_execution(transactional_db, target: Target, queued_execution: Execution) -> Execution:
    """Step 1 succeeded, step 2 failed, step 3 was never run. Step 2 works from now on."""
    target.script("step-2", ("permanent", "no such table"), ("succeed",))
    factories.drain()
    return _ended(queued_execution, "FAILED")


@pytest.fixture
def expired_execution(transactional_db, queued_execution: Execution) -> Execution:
    """Its worker died inside step 1, and the lease has ended."""
    die_in_step(queued_execution, position=1)
    factories.let_lease_end(queued_execution)
    return _ended(queued_execution, "RUNNING")


def _ended(execution: Execution, status: str) -> Execution:
    execution.refresh_from_db()
    assert execution.status == status
    return execution


@pytest.fixture
def log_lines() -> Iterator[list[dict]]:
    """The structured log lines of all threads of this process, as they are written."""
    with capture_logs() as lines:
        yield lines
