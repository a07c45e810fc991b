"""The README's own executor works as written, through the commands it names."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text()


def block(language: str, containing: str) -> str:
    blocks = re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)
    return next(text for text in blocks if containing in text)


@pytest.fixture
def project(tmp_path):
    """A folder with what the reader made, and the environment that the README sets."""
    (tmp_path / "my_targets").mkdir()
    (tmp_path / "my_targets/__init__.py").touch()
    (tmp_path / "my_targets/outbox_executors.py").write_text(block("python", "Notes"))
    (tmp_path / "my-notes.toml").write_text(block("toml", "my-notes"))
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("OUTBOX_", "TARGET_"))}
    exported = re.search(r"export (.*)", block("console", "OUTBOX_EXTRA_APPS")).group(1)
    return tmp_path, {
        **inherited,
        **dict(word.split("=") for word in shlex.split(exported)),
        "OUTBOX_ENV_FILE": os.devnull,
        "DJANGO_SETTINGS_MODULE": "outbox_project.settings",
        "DATABASE_URL": f"sqlite:///{tmp_path}/db.sqlite3",
        "PYTHONPATH": str(tmp_path),
    }


def test_the_commands_of_the_readme_write_a_note_and_take_it_back(project):
    folder, env = project
    lines = re.findall(r"\$ \./manage\.py (.*)", block("console", "OUTBOX_EXTRA_APPS"))
    existed = []
    for line in lines:
        command = [sys.executable, str(ROOT / "manage.py"), *shlex.split(line)]
        done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{line}: {done.stderr}"
        existed.append((folder / "note-hello.txt").exists())
    worked = [line.startswith("run_outbox_worker") for line in lines]
    first, last = worked.index(True), len(worked) - 1
    assert existed == [False] * first + [True] * (last - first) + [False]
