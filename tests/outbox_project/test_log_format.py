"""Log lines: both loggers write one shape, and no value can fake a second line."""

import json
import logging

import pytest
import structlog

from outbox_project.log_format import logging_config


def formatter(log_format):
    line = logging_config(log_format=log_format, level="INFO")["formatters"]["line"]
    return structlog.stdlib.ProcessorFormatter(**{name: value for name, value in line.items() if name != "()"})


@pytest.fixture
def logged(caplog):
    """Logs once through structlog and once through the standard library, and returns both records."""
    caplog.set_level("INFO")
    structlog.get_logger("outbox.worker").info("claimed", count=5, owner="w1\nforged")
    logging.getLogger("django.request").info("Not found: %s", "/x\nforged", extra={"request": object()})
    return caplog.records


def test_json_lines_carry_event_level_logger_and_utc_time(logged):
    lines = [json.loads(formatter("json").format(record)) for record in logged]
    assert [line["logger"] for line in lines] == ["outbox.worker", "django.request"]
    assert lines[0]["count"] == 5
    assert all(line["timestamp"].endswith("Z") and line["level"] == "info" for line in lines)


def test_a_console_event_is_one_line_whatever_its_values_are(logged):
    lines = [formatter("console").format(record) for record in logged]
    assert lines[0].endswith(r"info    outbox.worker claimed count=5 owner='w1\nforged'")
    assert lines[1].endswith(r"info    django.request Not found: /x\nforged")
