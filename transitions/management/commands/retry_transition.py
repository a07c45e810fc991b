"""``manage.py retry_transition TRANSITION``"""

from transitions.management.operations import QueueCommand
from transitions.services import retry_transition


class Command(QueueCommand):
    help = "Queues what a transition's failed last execution left undone."
    service = staticmethod(retry_transition)
