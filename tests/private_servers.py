"""Starts a database server for one run: own folder, own free port, own random password, gone at the end.

It runs as an unprivileged user: servers refuse to run as root, and nothing of the machine's own servers is touched.
"""

import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from glob import glob
from pathlib import Path
from typing import Any

START_SECONDS = 60
STOP_SECONDS = 20
ACCOUNTS = {"postgresql": ("postgres", "nobody"), "mariadb": ("mysql", "nobody")}


class CannotStart(Exception):
    """This machine cannot start a server of this vendor; the text says why."""


class Folder:
    """A temporary folder with at most one server in it, both owned by one unprivileged account."""

    def __init__(self, path: Path, account: str | None) -> None:
        self.path = path
        self.port = _free_port()
        self.password = secrets.token_hex(16)
        self._as_account: dict[str, Any] = {}
        self._process: subprocess.Popen[bytes] | None = None
        if account:
            entry = pwd.getpwnam(account)
            os.chown(path, entry.pw_uid, entry.pw_gid)
            self._as_account = {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}

    def start(self, starter: Callable[["Folder"], str]) -> str:
        """Starts the server; returns its URL without a database once it listens, or raises CannotStart."""
        url = starter(self)
        deadline = time.monotonic() + START_SECONDS
        while not _listens(self.port):
            if self._process is None or self._process.poll() is not None or time.monotonic() > deadline:
                raise CannotStart(f"the server did not start: {self._last_words()}")
            time.sleep(0.1)
        return url

    def write(self, name: str, text: str) -> Path:
        """Writes a file which the server's account, and no other, can read."""
        path = self.path / name
        path.touch(mode=0o600)
        path.write_text(text)
        if self._as_account:
            os.chown(path, self._as_account["user"], self._as_account["group"])
        return path

    def run(self, *command: str | Path) -> None:
        """Runs a command to its end, in the folder; raises CannotStart with what it said if it fails."""
        done = subprocess.run(
            command, check=False, **self._surroundings(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        if done.returncode:
            said = done.stdout.decode(errors="replace").strip().splitlines()
            raise CannotStart(f"{Path(command[0]).name}: {said[-1] if said else done.returncode}")

    def serve(self, *command: str | Path) -> None:
        """Starts the server itself; in a session of its own, because Ctrl-C must reach the tests and not the server."""
        with (self.path / "log").open("wb") as log:
            self._process = subprocess.Popen(
                command, **self._surroundings(), stdout=log, stderr=subprocess.STDOUT, start_new_session=True
            )

    def stop(self) -> None:
        """Stops the server if it runs, by force if it does not go."""
        if self._process is None:
            return
        # SIGINT is PostgreSQL's fast shutdown, SIGTERM would wait for clients; MariaDB knows SIGTERM only.
        self._process.send_signal(signal.SIGINT if (self.path / "data" / "PG_VERSION").exists() else signal.SIGTERM)
        try:
            self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _surroundings(self) -> dict[str, Any]:
        return {"cwd": self.path, "stdin": subprocess.DEVNULL, "env": {"PATH": os.environ["PATH"], "LC_ALL": "C"}} | (
            self._as_account
        )

    def _last_words(self) -> str:
        lines = (self.path / "log").read_text(errors="replace").strip().splitlines()
        return lines[-1] if lines else f"nothing listens on its port after {START_SECONDS} s"


@contextmanager
def folder(vendor: str) -> Iterator[Folder]:
    """Yields a folder to start a server in; stops the server and deletes the folder whatever happens inside."""
    path = Path(tempfile.mkdtemp(prefix=f"outbox-{vendor}-"))
    try:
        own = Folder(path, _account(vendor))
        try:
            yield own
        finally:
            own.stop()
    finally:
        shutil.rmtree(path, ignore_errors=True)


def postgresql(own: Folder) -> str:
    """Makes and starts a PostgreSQL; returns its URL."""
    initdb, postgres = _program("initdb", "postgresql"), _program("postgres", "postgresql")
    password = own.write("password", own.password)
    data = own.path / "data"
    own.run(initdb, "-D", data, "-U", "outbox", "-A", "scram-sha-256", f"--pwfile={password}", "-E", "UTF8", "-N")
    # No fsync: the data is thrown away. No socket: the port is enough, and its folder may not be ours.
    options = ("listen_addresses=127.0.0.1", "unix_socket_directories=", "fsync=off")
    own.serve(postgres, "-D", data, "-p", str(own.port), *(word for option in options for word in ("-c", option)))
    return f"postgresql://outbox:{own.password}@127.0.0.1:{own.port}"


def mariadb(own: Folder) -> str:
    """Makes and starts a MariaDB, whose only account is ours; returns its URL."""
    install, mariadbd = _program("mariadb-install-db", "mariadb"), _program("mariadbd", "mariadb")
    data = own.path / "data"
    own.run(install, "--no-defaults", f"--datadir={data}", "--skip-test-db", "--auth-root-authentication-method=normal")
    accounts = own.write(
        "accounts.sql",
        "DELETE FROM mysql.global_priv WHERE User IN ('root', '');\nFLUSH PRIVILEGES;\n"
        f"CREATE USER 'outbox'@'127.0.0.1' IDENTIFIED BY '{own.password}';\n"
        "GRANT ALL PRIVILEGES ON *.* TO 'outbox'@'127.0.0.1' WITH GRANT OPTION;\n",
    )
    where = (f"--datadir={data}", f"--port={own.port}", f"--socket={own.path / 'socket'}", f"--init-file={accounts}")
    local = ("--bind-address=127.0.0.1", "--skip-name-resolve", f"--pid-file={own.path / 'pid'}")
    own.serve(mariadbd, "--no-defaults", *where, *local, "--innodb-flush-log-at-trx-commit=0")
    return f"mysql://outbox:{own.password}@127.0.0.1:{own.port}"


def _program(name: str, vendor: str) -> str:
    """Returns the path of a server program, also where its package keeps it out of PATH."""
    places = [os.environ["PATH"], "/usr/sbin", "/usr/local/sbin"]
    if vendor == "postgresql":
        places += sorted(glob("/usr/lib/postgresql/*/bin"), key=lambda path: int(Path(path).parent.name), reverse=True)
    if found := shutil.which(name, path=os.pathsep.join(places)):
        return found
    raise CannotStart(f"{name} is not installed")


def _account(vendor: str) -> str | None:
    """Returns the account to run as, where we are root; None where we are already without privileges."""
    if os.geteuid() != 0:
        return None
    for name in ACCOUNTS[vendor]:
        with suppress(KeyError):
            return pwd.getpwnam(name).pw_name
    raise CannotStart(f"no unprivileged account ({' or '.join(ACCOUNTS[vendor])}) to run it as")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == 0
