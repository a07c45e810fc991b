"""The rows that the pages show, each read in a fixed number of queries."""

from django.db.models import Count, OuterRef, Prefetch, QuerySet, Subquery
from django.db.models.functions import Coalesce

from transitions.admin.standing import with_standing
from transitions.models import Execution, OutboxCommand, StepReceipt, Transition
from transitions.states import ReceiptStatus

HISTORY_LENGTH = 20  # a transition can be retried without end; the list of executions shows them all


def executions() -> QuerySet[Execution]:
    """Executions with transition, command (fit for `standing_of`) and progress: two queries, however many rows."""
    commands = with_standing(OutboxCommand.objects.all())
    rows = Execution.objects.select_related(
        *(f"transition__{name}" for name in ("plugin", "from_release", "to_release"))
    )
    return rows.prefetch_related(Prefetch("command", queryset=commands)).annotate(
        # Counted for the rows that are shown, not by grouping the whole table.
        steps_done=_count(StepReceipt.objects.filter(status=ReceiptStatus.SUCCEEDED)),
        steps_in_all=_count(StepReceipt.objects.all()),
    )


def _count(receipts: QuerySet[StepReceipt]) -> Coalesce:
    mine = receipts.filter(execution=OuterRef("pk")).order_by().values("execution")
    return Coalesce(Subquery(mine.annotate(rows=Count("pk")).values("rows")), 0)


def transitions() -> QuerySet[Transition]:
    """Transitions with releases and, as ``latest``, a list of their last execution or of none: three queries."""
    siblings = Execution.objects.filter(transition=OuterRef("transition")).order_by("-number")
    latest = executions().filter(number=Subquery(siblings.values("number")[:1]))
    rows = Transition.objects.select_related("plugin", "from_release", "to_release")
    return rows.prefetch_related(Prefetch("executions", queryset=latest, to_attr="latest"))


def history_of(transition: Transition) -> list[Execution]:
    """The latest executions of a transition, newest first."""
    return list(executions().filter(transition=transition).order_by("-number")[:HISTORY_LENGTH])
