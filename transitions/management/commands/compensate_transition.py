"""``manage.py compensate_transition TRANSITION``"""

from transitions.management.operations import QueueCommand
from transitions.services import compensate_transition


class Command(QueueCommand):
    help = "Queues the undoing, in reverse order, of what a transition's executions did."
    service = staticmethod(compensate_transition)
