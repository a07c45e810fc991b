"""A real target: the second test database, prepared, and empty again after each test."""

from collections.abc import Iterator

import pytest
from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper

from tests.transitions import targets
from transitions.executors.sql.target import TARGET, prepare


@pytest.fixture
def bare_target(transactional_db) -> Iterator[BaseDatabaseWrapper]:
    """The connection to an empty target. Needs ``databases=["default", "target"]``."""
    targets.empty(connections[TARGET])
    yield connections[TARGET]
    targets.empty(connections[TARGET])


@pytest.fixture
def sql_target(bare_target: BaseDatabaseWrapper) -> BaseDatabaseWrapper:
    """The connection to a target that has its table of receipts and nothing else."""
    prepare()
    return bare_target
