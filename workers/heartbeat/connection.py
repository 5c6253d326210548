"""Connection of one process of a worker to the heartbeat process, and the start of the latter."""

from __future__ import annotations

import atexit
import json
import logging
import os
import selectors
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from pydantic import JsonValue

from ...agents.execution.threads import reset_in_children
from ...models.errors import StateError
from ...state.worker_leases import lease_keys

log = logging.getLogger(__name__)

_PROGRAM = str(Path(__file__).with_name("program.py"))
#: Seconds to connect to the heartbeat process, and between two attempts.
_TIMEOUT_S, _RETRY_EVERY_S = 1.0, 0.2
#: A session stays reported for some seconds after its last turn, because its next one often begins here at once;
#: of no more sessions than this.
_KEPT_S, _KEPT_SESSIONS = 0.5, 32
#: Bytes that may wait for a heartbeat process that reads nothing.
_MAX_UNSENT = 1_048_576
#: Maximum characters of the id of a session.
_MAX_ID = 64
#: Maximum bytes of the path of the temporary folder in which the folder of the socket can be.
_MAX_FOLDER = 75


class HeartbeatProcess:
    """The heartbeat process of a worker, with the socket to which the processes of the worker connect.

    Raises:
        OSError: The folder of the socket cannot be created.
    """

    def __init__(self) -> None:
        # For this user only; the path of a socket has at most 103 characters on some systems.
        is_short = len(os.fsencode(tempfile.gettempdir())) <= _MAX_FOLDER
        folder = None if is_short else "/tmp"  # noqa: S108 # nosec B108 - `mkdtemp` makes a folder of its own in it
        self.folder = Path(tempfile.mkdtemp(prefix="symposia-", dir=folder))
        self._listener = socket.socket(socket.AF_UNIX)
        try:
            self._listener.bind(str(self.address))
            self._listener.listen(1_024)
        except OSError:
            self._listener.close()
            shutil.rmtree(self.folder, ignore_errors=True)
            raise
        self._process: subprocess.Popen[bytes] | None = None
        atexit.register(_remove_folder, self.folder, os.getpid())

    @property
    def address(self) -> Path:
        """The socket."""
        return self.folder / "heartbeat"

    def ensure_running(self) -> None:
        """Start the process, unless it runs.

        Raises:
            OSError: It cannot be started.
        """
        if self._process is not None and self._process.poll() is None:
            return
        if self._process is not None:
            log.warning("the heartbeat process of this worker has ended; starting another one")
        descriptor = self._listener.fileno()
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", _PROGRAM, str(self.folder), str(descriptor), str(os.getpid())],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=[descriptor],
            env={},  # no secret of the worker
            start_new_session=True,  # it outlives a signal to the group of the worker
        )


def _remove_folder(folder: Path, main_process: int) -> None:
    """Remove the folder of the socket at the end of the main process; if that is killed, the heartbeat process does it."""
    if os.getpid() == main_process:
        shutil.rmtree(folder, ignore_errors=True)


#: Returns where and what the heartbeat process sends; it may raise StateError or OSError.
DescribeServer = Callable[[], JsonValue]


class HeartbeatConnection:
    """Report of the sessions of this process to the heartbeat process. A thread keeps it connected.

    Args:
        address: The socket of the heartbeat process.
        process: Id of this process.
        ensure_running: In the main process: starts the heartbeat process if it does not run.
        describe_server: In the main process: returns the server for the heartbeat process.
    """

    def __init__(
        self,
        address: Path,
        process: str,
        *,
        ensure_running: Callable[[], None] = lambda: None,
        describe_server: DescribeServer | None = None,
    ) -> None:
        self.process = process
        self._address = address
        self._ensure_running = ensure_running
        self._describe_server = describe_server
        self._is_server_due = describe_server is not None
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None
        self._unsent = bytearray()
        #: Number of Celery tasks of each session, and the time at which the last one ended.
        self._running: dict[str, int] = {}
        self._ended: dict[str, float] = {}
        self._is_kept = False
        reset_in_children(self)
        self._connect()
        threading.Thread(target=self._run, name="symposia-heartbeat", daemon=True).start()

    @contextmanager
    def hold(self, session_id: str) -> Iterator[None]:
        """Report that this process works on the session while the block runs.

        The text of a message of the queue is reported only if it can be an id: each one is a line for the heartbeat process.
        """
        if not (session_id.isascii() and session_id.isprintable() and 0 < len(session_id) <= _MAX_ID):
            yield
            return
        with self._lock:
            tasks = self._running.get(session_id, 0)
            self._running[session_id] = tasks + 1
            if not tasks and self._ended.pop(session_id, None) is None:
                self._send(f"+{session_id}\n")
        try:
            yield
        finally:
            with self._lock:
                self._release(session_id)

    def report_all_ended(self, **_: object) -> None:
        """Report at once what has ended: in a shutdown no further turn of these sessions begins here."""
        with self._lock:
            self._report_ended(kept_s=0)

    def keep_all(self) -> None:
        """Report no end any more: turns that are cancelled now are taken over when this process has ended."""
        with self._lock:
            self._is_kept = True

    def reset_after_fork(self) -> None:
        """Close the copy of the connection in a child: otherwise the end of this process would not be seen."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _release(self, session_id: str) -> None:
        tasks = self._running.pop(session_id)
        if tasks > 1:
            self._running[session_id] = tasks - 1
        else:
            self._ended[session_id] = time.monotonic()
            self._report_ended()

    def _report_ended(self, *, kept_s: float = _KEPT_S) -> None:
        if self._is_kept:
            return
        now = time.monotonic()
        while self._ended:
            session_id, at = next(iter(self._ended.items()))
            if now - at < kept_s and len(self._ended) <= _KEPT_SESSIONS:
                return
            del self._ended[session_id]
            self._send(f"-{session_id}\n")

    def _send(self, line: str) -> None:
        """Send a line without waiting; after a lost connection the first line of the next one has it, too."""
        if self._socket is None:
            return
        self._unsent += line.encode()
        try:
            while self._unsent:
                del self._unsent[: self._socket.send(self._unsent)]
        except BlockingIOError:
            if len(self._unsent) > _MAX_UNSENT:
                self._disconnect()
        except OSError:
            self._disconnect()

    def _disconnect(self) -> None:
        with suppress(OSError):
            if self._socket is not None:
                self._socket.shutdown(socket.SHUT_RDWR)  # wakes up the thread, which connects again

    def _run(self) -> None:
        is_reported = False
        while True:
            try:
                self._ensure_running()
                if self._socket is None:
                    self._connect()
                if self._socket is not None:
                    is_reported = False
                    self._listen(self._socket)
            except Exception as error:  # noqa: BLE001 - the lease of this process depends on this thread
                if not is_reported:
                    log.warning("the heartbeat of this worker failed, will retry: %s", error)
                is_reported = True
            time.sleep(_RETRY_EVERY_S)

    def _connect(self) -> None:
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(_TIMEOUT_S)
        try:
            connection.connect(str(self._address))
            with self._lock:
                held: list[JsonValue] = [*self._running, *self._ended]
                keys: list[JsonValue] = [*lease_keys(self.process)]
                is_main = self._describe_server is not None
                hello = {"process": self.process, "keys": keys, "held": held, "is_main": is_main}
                connection.sendall(json.dumps(hello).encode() + b"\n")
                connection.setblocking(False)
                self._socket, self._unsent = connection, bytearray()
            self._is_server_due = self._describe_server is not None
        except OSError:
            connection.close()  # the heartbeat process does not run: the thread tries again

    def _listen(self, connection: socket.socket) -> None:
        """Wait for the end of the connection; send the server when the heartbeat process asks for it."""
        with selectors.DefaultSelector() as selector:
            selector.register(connection, selectors.EVENT_READ)
            is_connected = True
            while is_connected:
                self._ensure_running()  # the one that accepts this connection may have ended before
                if self._is_server_due:
                    self._send_server()
                if selector.select(_TIMEOUT_S):
                    is_connected = self._read(connection)
                with self._lock:
                    self._report_ended()
        with self._lock:
            self._socket = None
        connection.close()

    def _read(self, connection: socket.socket) -> bool:
        """Read what the heartbeat process sent; return whether the connection lasts."""
        try:
            request = connection.recv(4_096)
        except BlockingIOError:
            return True
        except OSError:
            return False
        self._is_server_due = self._is_server_due or (bool(request) and self._describe_server is not None)
        return bool(request)

    def _send_server(self) -> None:
        if self._describe_server is None:
            return
        try:
            described = self._describe_server()
        except (StateError, OSError) as error:
            log.debug("the server of the heartbeat is not known: %s", error)
            return
        with self._lock:
            self._is_server_due = False
            self._send(json.dumps({"server": described}) + "\n")


def new_process_id(worker: str) -> str:
    """Return an id for this process of a worker, which differs from those of all earlier processes."""
    return f"{worker}/{os.getpid()}-{os.urandom(4).hex()}"
