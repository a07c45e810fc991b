"""Reports as text for a terminal."""

from collections.abc import Iterable, Sequence
from typing import Any


def table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Left-aligned columns under their heads."""
    cells = [list(head), *([str(cell) for cell in row] for row in rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(head))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in cells]
    return "\n".join(lines)


def execution_text(report: dict[str, Any]) -> str:
    """An execution for a person: its state in a line, its command in a line, its receipts as a table."""
    command = report["command"]
    head = (
        f"execution {report['execution']} of transition {report['transition']} ({report['name']})\n"
        f"  {report['direction']}, attempt {report['attempt']} in cycle {report['cycle']}, {report['executor_code']}: "
        f"{report['status']}\n"
        f"  command {command['status']}, deliveries: {command['delivery_count']}{_lease(command)}"
    )
    error = f"\n  last error: {command['last_error']}" if command["last_error"] else ""
    names = ("position", "step_key", "status", "attempts", "target_id")
    rows = [[*(receipt[name] for name in names), _remark(receipt)] for receipt in report["receipts"]]
    return f"{head}{error}\n" + table(["#", "step", "status", "runs", "target receipt", "remark"], rows)


def _lease(command: dict[str, Any]) -> str:
    left = command["lease_seconds_left"]
    if left is None:
        return ""
    return f", held by {command['lease_owner']}, " + (f"{left:g} s left" if left >= 0 else f"expired {-left:g} s ago")


def _remark(receipt: dict[str, Any]) -> str:
    unknown = "an earlier run may have happened" if receipt["outcome_unknown"] else ""
    first_line = receipt["error"].splitlines()[0] if receipt["error"] else ""
    return " | ".join(part for part in (receipt["error_code"], first_line, unknown) if part)
