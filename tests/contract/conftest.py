"""Every test of this folder runs over every leased model, with SKIP LOCKED where the database has it and without."""

import pytest

from tests.leased_rows import KINDS, Kind


@pytest.fixture(params=KINDS, ids=str)
def kind(request) -> Kind:
    return request.param


@pytest.fixture(params=[True, False], ids=["skip_locked", "plain"], autouse=True)
def skip_locked(request, settings) -> bool:
    settings.OUTBOX = {**settings.OUTBOX, "SKIP_LOCKED": request.param}
    return request.param
