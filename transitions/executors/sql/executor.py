"""``sql:v1``: a step's statements on the target database, and the target's own receipt for them."""

from typing import Any

from transitions.errors import InvalidPayload
from transitions.executors.base import Executor, Recovery, StepRequest, TargetReceipt
from transitions.executors.sql import intent, target, transaction
from transitions.executors.sql.payload import parse_payload
from transitions.executors.sql.step import SqlStep, receipt_of
from transitions.executors.sql.target import ReceiptRow, target_connection
from transitions.executors.sql.text import is_plain_dml


class Sql(Executor):
    """One effect and one receipt for a key, however often and by however many it is run.

    Where the database can roll DDL back, statements and receipt commit together (`transaction`). Where it can't
    (MySQL, MariaDB) the same holds for plain DML, and `intent` has the rest.
    """

    code = "sql:v1"
    recovery = Recovery.KEYED

    def check_payload(self, kind: str, payload: dict[str, Any]) -> None:
        """Raises `InvalidPayload` for what is no SQL step, or is none for the target. Connects to nothing."""
        _require_vendor(parse_payload(kind, payload).vendor)

    def run(self, request: StepRequest) -> TargetReceipt:
        """Apply the statements, or find them applied. `StatementFailed` means that nothing of the step remains."""
        try:
            return receipt_of(_apply(SqlStep.of(request)))
        finally:
            _end_session()


def _apply(step: SqlStep) -> ReceiptRow:
    _require_vendor(step.vendor)
    connection = target_connection()
    if connection.features.can_rollback_ddl or all(map(is_plain_dml, step.statements)):
        return transaction.apply(step)
    return intent.apply(step, connection)


def _end_session() -> None:
    """What a statement set for its session, a search path or a mode, ends with the step."""
    if target.is_configured() and not target_connection().in_atomic_block:
        target_connection().close()


def _require_vendor(vendor: str) -> None:
    """Raises `InvalidPayload` unless the target is configured and of this vendor."""
    if not target.is_configured():
        raise InvalidPayload(target.NOT_CONFIGURED)
    found = target_connection().vendor
    if found != vendor:
        raise InvalidPayload(f"payload.vendor: the SQL is for {vendor}, and the target is {found}")
