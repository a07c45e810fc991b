"""Log lines: structlog and the standard library write the same shape, through one handler, to standard error."""

from collections.abc import MutableMapping
from typing import Any

import structlog
from structlog.typing import Processor

FORMATS = ("console", "json")
LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")

# What each line carries, whoever logged it.
_SHARED: list[Processor] = [
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_log_level,
    structlog.stdlib.add_logger_name,
    structlog.stdlib.PositionalArgumentsFormatter(),
    structlog.processors.TimeStamper(fmt="iso", utc=True),
    structlog.processors.StackInfoRenderer(),
    structlog.processors.format_exc_info,
]


def configure_structlog() -> None:
    """Sends structlog's events through standard logging, so that one configuration, LOGGING, holds for both."""
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *_SHARED,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        wrapper_class=structlog.stdlib.BoundLogger,
        logger_factory=structlog.stdlib.LoggerFactory(),
        # A cached logger would not notice that a test captures its events.
        cache_logger_on_first_use=False,
    )


def logging_config(*, log_format: str, level: str) -> dict[str, Any]:
    """Returns Django's LOGGING: everything from `level` up to standard error, one event a line."""
    renderer = structlog.processors.JSONRenderer() if log_format == "json" else render_line
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {
            "line": {
                "()": structlog.stdlib.ProcessorFormatter,
                "foreign_pre_chain": [structlog.stdlib.ExtraAdder(), _no_leftovers, *_SHARED],
                "processors": [structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer],
            }
        },
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
        "root": {"handlers": ["stderr"], "level": level},
        # Django's own handlers print and mail; here its loggers hand everything to the root.
        "loggers": {
            "django": {"handlers": [], "level": level, "propagate": True},
            "django.server": {"handlers": [], "level": level, "propagate": True},
        },
    }


def render_line(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> str:
    """Renders `time level logger event key=value …`; a value's line break or control character cannot fake a line."""
    trace = event.pop("exception", None)
    head = [str(event.pop(key, "")) for key in ("timestamp", "level", "logger", "event")]
    pairs = [f"{key}={value!r}" for key, value in event.items()]
    line = " ".join(_printable(word) for word in [head[0], f"{head[1]:<7}", *head[2:], *pairs])
    return f"{line}\n{trace}" if trace else line


def _no_leftovers(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Drops what says nothing in a line: objects that Django's server adds, text that another formatter left."""
    for key in ("request", "server_time", "message", "asctime"):
        event.pop(key, None)
    return event


def _printable(text: str) -> str:
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)
