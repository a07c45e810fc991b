"""The docs say what the code does."""

import re
from pathlib import Path

import pytest

from outbox import conf
from transitions import states

ROOT = Path(__file__).resolve().parent.parent


def drawn_moves(heading: str) -> set[tuple[str, str]]:
    text = (ROOT / "docs/state_machine.md").read_text()
    section = text.split(f"## {heading}\n")[1].split("```")[1]
    return set(re.findall(r"(\w+) --> (\w+)", section))


@pytest.mark.parametrize(
    ("heading", "moves"),
    [
        ("Command", states.COMMAND_MOVES),
        ("Execution", states.EXECUTION_MOVES),
        ("Receipt", states.RECEIPT_MOVES),
    ],
)
def test_the_drawn_state_machine_is_the_one_in_the_code(heading, moves):
    coded = {(str(start), str(end)) for start, ends in moves.items() for end in ends}
    assert drawn_moves(heading) == coded


def test_every_numeric_option_is_documented_with_its_bounds():
    text = (ROOT / "docs/configuration.md").read_text()
    for name, option in conf.NUMBERS.items():
        row = next(line for line in text.splitlines() if line.startswith(f"| `OUTBOX_{name}`"))
        assert f"{option.lowest:g} – {option.highest:.0f}" in row


def test_every_promise_names_a_test_that_exists():
    text = (ROOT / "docs/guarantees.md").read_text()
    named = re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", text)
    assert named
    for path, test in named:
        file = ROOT / path
        assert file.is_file(), path
        assert not test or f"def {test}(" in file.read_text(), f"{path}::{test}"
