"""RB-05: a configuration that can't be right is told, with an id, the setting and the fix, and no worker starts on it.

A step may be longer than a lease here: the keeper renews while it runs. What bounds it is the deadline.
"""

import math
import signal

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError, SystemCheckError

from outbox import conf
from outbox.checks import check_options
from outbox.management.commands.run_outbox_worker import Command

NUMBERS = sorted(conf.NUMBERS)
WHOLE = [name for name in NUMBERS if conf.NUMBERS[name].whole]


def found(settings, **options) -> list[tuple[str, str]]:
    settings.OUTBOX = options
    return [(message.id, f"{message.msg} {message.hint}") for message in check_options(None)]


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("given", [-1, 1e9, "-1"])
def test_rb_05_a_number_out_of_bounds_is_clamped_and_told(settings, name, given):
    option = conf.NUMBERS[name]
    told = [text for code, text in found(settings, **{name: given}) if code == "outbox.W001"]
    assert len(told) == 1
    assert f"OUTBOX['{name}']" in told[0]
    assert option.rule in told[0]
    assert option.lowest <= conf.number(name) <= option.highest


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize(
    "given", ["soon", None, math.nan, math.inf, "nan", True, [], "", pytest.param(10**400, id="huge")]
)
def test_rb_05_what_is_no_number_is_an_error_and_the_default_is_in_force(settings, name, given):
    told = [text for code, text in found(settings, **{name: given}) if code == "outbox.E001"]
    assert len(told) == 1
    assert f"OUTBOX['{name}']" in told[0]
    assert conf.number(name) == conf.NUMBERS[name].default


@pytest.mark.parametrize("name", WHOLE)
def test_rb_05_a_broken_count_is_no_count(settings, name):
    assert [code for code, _ in found(settings, **{name: 2.5})] == ["outbox.E001"]


@pytest.mark.parametrize("name", NUMBERS)
def test_rb_05_a_good_number_is_good_as_text(settings, name):
    good = conf.NUMBERS[name].default
    assert found(settings, **{name: f"{good:g}"}) == []
    assert conf.number(name) == good


@pytest.mark.parametrize(
    ("options", "code", "named"),
    [
        ({"LEASE_SECONDS": 30, "RENEW_SECONDS": 15}, "outbox.E002", "RENEW_SECONDS"),
        ({"LEASE_SECONDS": 60, "RENEW_SECONDS": 60}, "outbox.E002", "RENEW_SECONDS"),
        ({"LEASE_SECONDS": 60, "DEADLINE_SECONDS": 59}, "outbox.E003", "DEADLINE_SECONDS"),
        ({"LEASE_SECONDS": 20, "SHUTDOWN_SECONDS": 30}, "outbox.W002", "SHUTDOWN_SECONDS"),
    ],
)
def test_rb_05_a_dangerous_combination_has_one_id_and_names_the_setting(settings, options, code, named):
    told = found(settings, **options)
    assert [each for each, _ in told] == [code]
    assert named in told[0][1]


def test_rb_05_a_lease_alone_brings_its_renewal_along(settings):
    assert found(settings, LEASE_SECONDS=90) == []
    assert conf.number("RENEW_SECONDS") == 30


@pytest.mark.django_db(databases=["default"])
@pytest.mark.parametrize("options", [{"LEASE_SECONDS": "soon"}, {"RENEW_SECONDS": 40}])
def test_rb_05_a_worker_does_not_start_on_an_error(settings, options):
    settings.OUTBOX = options
    with pytest.raises(SystemCheckError, match=r"outbox\.E"):
        call_command("run_outbox_worker", "--once", skip_checks=False)


@pytest.mark.django_db(databases=["default"])
def test_rb_05_a_worker_does_not_start_on_what_its_own_command_line_makes_dangerous(settings):
    settings.OUTBOX = {"DEADLINE_SECONDS": 100}
    with pytest.raises(CommandError, match=r"outbox\.E003.*DEADLINE_SECONDS"):
        call_command("run_outbox_worker", "--once", "--lease-seconds", "200")


@pytest.mark.django_db(transaction=True)
def test_rb_05_the_values_in_force_are_told_once_at_the_start(settings, log_lines):
    settings.OUTBOX = {**settings.OUTBOX, "BATCH_SIZE": 10**9}
    call_command("run_outbox_worker", "--once", "--concurrency", "2")
    (started,) = [line for line in log_lines if line["event"] == "worker_started"]
    assert (started["batch_size"], started["concurrency"], started["lease_seconds"]) == (1000, 2, 60)


@pytest.mark.parametrize("name", [name for name in NUMBERS if conf.NUMBERS[name].lowest > 0])
def test_rb_05_nothing_is_too_little(settings, name):
    assert "outbox.W001" in [code for code, _ in found(settings, **{name: 0})]
    assert conf.number(name) == conf.NUMBERS[name].lowest


@pytest.mark.django_db(transaction=True)
def test_rb_05_the_process_of_a_worker_that_is_refused_ends_with_1(settings, capsys):
    settings.OUTBOX = {"LEASE_SECONDS": "soon"}
    handlers = [signal.getsignal(signum) for signum in (signal.SIGTERM, signal.SIGINT)]
    with pytest.raises(SystemExit) as ended:
        Command().run_from_argv(["manage.py", "run_outbox_worker", "--once"])
    assert ended.value.code == 1
    assert "outbox.E001" in capsys.readouterr().err
    assert handlers == [signal.getsignal(signum) for signum in (signal.SIGTERM, signal.SIGINT)]


@pytest.mark.parametrize("option", ["--batch-size", "--poll-interval", "--lease-seconds", "--concurrency"])
@pytest.mark.parametrize("given", ["0", "-1", "1e9", "nan", "many"])
def test_rb_05_a_bad_number_on_the_command_line_is_refused_with_its_rule(option, given):
    with pytest.raises(CommandError, match=rf"{option}.* number from .* to "):
        call_command("run_outbox_worker", "--once", f"{option}={given}")
