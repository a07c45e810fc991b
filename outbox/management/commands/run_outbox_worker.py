"""``manage.py run_outbox_worker``: the only way in which a worker starts."""

import dataclasses
import os
import signal
import socket
import sys
import uuid
from typing import Any

import structlog
from django.core.checks import ERROR
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import DatabaseError, InterfaceError, router

from outbox import conf, lanes
from outbox.checks import dangers
from outbox.lane_runner import Until
from outbox.lanes import Lane, LaneOptions
from outbox.worker import ExitCode, Worker

log = structlog.get_logger(__name__)


def _number(option: str) -> Any:
    """An argparse type: the number, refused with its rule where it is none or out of bounds."""

    def parse(text: str) -> float:
        rule = conf.NUMBERS[option]
        number = rule.parse(text)
        if rule.clamp(number) != number:
            raise ValueError
        return rule.clamp(number)

    parse.__name__ = conf.NUMBERS[option].rule
    return parse


class Command(BaseCommand):
    help = (
        "Claims outbox work by lease and delivers it. Exit codes: 0 stopped or drained, 1 refused to start, 2 usage, "
        "3 the grace period ended with a step still running, 4 a second signal."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        how_long = parser.add_mutually_exclusive_group()
        how_long.add_argument("--once", action="store_true", help="claim once on each lane, deliver that, exit")
        how_long.add_argument("--drain", action="store_true", help="deliver until nothing is claimable, exit")
        parser.add_argument("--lanes", metavar="A,B", help="serve only these lanes (default: all that are enabled)")
        parser.add_argument("--batch-size", type=_number("BATCH_SIZE"), help="rows a claim takes at most")
        parser.add_argument("--poll-interval", type=_number("POLL_INTERVAL_SECONDS"), dest="poll_interval_seconds")
        parser.add_argument("--lease-seconds", type=_number("LEASE_SECONDS"))
        parser.add_argument("--concurrency", type=_number("CONCURRENCY"), help="deliveries side by side, a lane")
        parser.add_argument("--worker-id", help="name of this worker (default: host, process and a random part)")

    def get_check_kwargs(self, options: dict[str, Any]) -> Any:
        """The database checks as well: they need a connection, and a worker has no use without one."""
        aliases = {router.db_for_write(lane.model) for lane in lanes.registered().values()}
        return {**super().get_check_kwargs(options), "databases": sorted(aliases)}

    def handle(self, *args: Any, **options: Any) -> None:
        served = [(lane, _effective(lane.options(), options)) for lane in _chosen(options["lanes"])]
        shutdown_seconds = conf.number("SHUTDOWN_SECONDS")
        self._refuse_dangers(served, shutdown_seconds)
        worker_id = options["worker_id"] or f"{socket.gethostname()}:{os.getpid()}:{uuid.uuid4().hex[:6]}"
        until = Until.CLAIMED_ONCE if options["once"] else Until.DRAINED if options["drain"] else Until.STOPPED
        worker = Worker(served, worker_id=worker_id, shutdown_seconds=shutdown_seconds, until=until)
        _stop_on_signals(worker)
        for lane, in_force in served:
            log.info("worker_started", worker=worker_id, lane=lane.name, until=until.value, **vars(in_force))
        try:
            code = worker.run()
        except (DatabaseError, InterfaceError) as error:
            # Only a bounded run comes here: any other waits for the database to come back.
            raise CommandError(f"the database failed: {error}") from error
        if code is not ExitCode.STOPPED:
            sys.exit(code)

    def _refuse_dangers(self, served: list[tuple[Lane, LaneOptions]], shutdown_seconds: float) -> None:
        for lane, in_force in served:
            errors = [found for found in dangers(in_force, shutdown_seconds=shutdown_seconds) if found.level >= ERROR]
            if errors:
                raise CommandError(f"lane {lane.name}: " + " ".join(f"({e.id}) {e.msg} {e.hint}" for e in errors))


def _chosen(names: str | None) -> list[Lane]:
    """The lanes to serve. Raises `CommandError` for an unknown name, and where nothing would be served."""
    known = lanes.registered()
    if names is not None:
        wanted = [name.strip() for name in names.split(",")]
        if unknown := [name for name in wanted if name not in known]:
            raise CommandError(f"--lanes: unknown {', '.join(map(repr, unknown))}; there are: {', '.join(known)}")
        return [known[name] for name in dict.fromkeys(wanted)]
    enabled = [lane for lane in known.values() if lane.enabled()]
    if not enabled:
        raise CommandError("no lane is enabled: set OUTBOX_POLLING_ENABLED, or name lanes with --lanes")
    return enabled


def _effective(options: LaneOptions, given: dict[str, Any]) -> LaneOptions:
    """The lane's options with what the command line overrides; renewal follows a lease that is given there."""
    names = ("batch_size", "poll_interval_seconds", "lease_seconds", "concurrency")
    changes = {name: given[name] for name in names if given[name] is not None}
    if "lease_seconds" in changes:
        changes["renew_seconds"] = min(options.renew_seconds, changes["lease_seconds"] * conf.LARGEST_LEASE_SHARE)
    return dataclasses.replace(options, **changes)


def _stop_on_signals(worker: Worker) -> None:
    signals_seen = 0

    def stop(signum: int, frame: object) -> None:
        nonlocal signals_seen
        signals_seen += 1
        if signals_seen > 1:
            os._exit(ExitCode.FORCED)
        worker.request_stop()

    for signum in (signal.SIGTERM, signal.SIGINT):
        signal.signal(signum, stop)
