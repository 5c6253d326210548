"""A PostgreSQL of the tests' own, or the one that SYMPOSIA_TEST_POSTGRES_URL names."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg

from live import until
from scaling import patient
from servers.ports import own_port
from symposia.models.text.ids import new_id

HOST = "127.0.0.1"
NAMED = "SYMPOSIA_TEST_POSTGRES_URL"
#: Asked for by the server's own user: `end_with_parent` needs this one's Python, and a change of user undoes it.
_WITH_PARENT = ["setpriv", "--pdeathsig", "INT", "--"] if shutil.which("setpriv") else []
MISSING = f"there is no PostgreSQL: `make debian-packages` installs one, {NAMED} names another"


def programs() -> Path | None:
    """Where the newest `initdb` and `postgres` are."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda it: int(it.parts[-3]))
    on_path = shutil.which("initdb")
    if found:
        return found[-1].parent
    return Path(on_path).resolve().parent if on_path else None


class Postgres:
    """A private server that restarts on the same data and port."""

    def __init__(self, folder: Path, bin_folder: Path) -> None:
        self._data = folder / "data"
        self._log = folder / "postgres.log"
        self._bin = bin_folder
        self._port = own_port()
        self.url = f"postgresql://tester@{HOST}:{self._port}/postgres"
        self._process: subprocess.Popen[bytes] | None = None
        # PostgreSQL refuses to run as root.
        self._user = "nobody" if os.getuid() == 0 else None
        if self._user:
            entry = pwd.getpwnam(self._user)
            os.chown(folder, entry.pw_uid, entry.pw_gid)
        subprocess.run(
            [
                bin_folder / "initdb",
                "-D",
                self._data,
                "-U",
                "tester",
                "-A",
                "trust",
                "--no-sync",
                "-E",
                "UTF8",
            ],
            check=True,
            user=self._user,
            capture_output=True,
            cwd="/",
            timeout=patient(120),
        )

    def start(self) -> None:
        settings = ("fsync=off", f"listen_addresses={HOST}", "unix_socket_directories=", "max_connections=60")
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [*_WITH_PARENT, self._bin / "postgres", "-D", self._data, "-p", str(self._port)]
                + [part for setting in settings for part in ("-c", setting)],
                user=self._user,
                stdout=log,
                stderr=log,
                cwd="/",
            )
        until(self._answers, timeout_s=60, what="PostgreSQL answers")

    def stop(self) -> None:
        """Ends every connection at once."""
        if self._process is not None:
            self._process.send_signal(signal.SIGINT)
            self._process.wait(patient(30))
            self._process = None

    @property
    def runs(self) -> bool:
        return self._process is not None

    def _answers(self) -> bool:
        try:
            psycopg.connect(self.url, connect_timeout=round(patient(2))).close()
        except psycopg.OperationalError:
            return False
        return True


@contextmanager
def own_postgres(bin_folder: Path) -> Iterator[Postgres]:
    """A server in a temporary folder, on a free port."""
    with tempfile.TemporaryDirectory(prefix="symposia-postgres-") as folder:
        server = Postgres(Path(folder), bin_folder)
        server.start()
        try:
            yield server
        finally:
            server.stop()


@contextmanager
def own_database(server_url: str) -> Iterator[str]:
    """The URL of an empty database, dropped afterwards."""
    name = f"symposia_{new_id().replace('-', '')}"
    execute_on(server_url, f"CREATE DATABASE {name}")
    try:
        yield f"{server_url.rpartition('/')[0]}/{name}"
    finally:
        execute_on(server_url, f"DROP DATABASE {name} WITH (FORCE)")


def execute_on(server_url: str, statement: str) -> None:
    """Execute a statement on a new connection: the server may have restarted meanwhile."""
    with psycopg.connect(server_url, autocommit=True) as server:
        server.execute(statement.encode())
