"""``manage.py execute_transition TRANSITION``"""

from transitions.management.operations import QueueCommand
from transitions.services import execute_transition


class Command(QueueCommand):
    help = "Queues a transition's whole plan, forward."
    service = staticmethod(execute_transition)
