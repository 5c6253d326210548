"""Program of the heartbeat process: reports to Redis that the processes of one worker run, and when one of them ends.

    python -I -S program.py FOLDER FD MAIN

Each process of the worker (the main process, and each child of a pool of processes) connects to the listening
socket FD. The kernel closes the connection of a process that ends, for whatever reason: that is the sign of its
end. A process that is only slow, frozen, or kept busy by an agent keeps its connection, and this program renews its
lease. If the whole machine is lost, the leases expire.

The program imports neither Symposia nor redis-py, which would take 25 MB: it reads the address of the server and the
text of the script from the worker, and sends `EVAL` itself. Lines from a worker process:

    {"process": ..., "keys": [...], "held": [...], "is_main": ...}   first line: its id, the keys of its lease, its sessions
    {"server": {...}}                                only from the main process: where and what to send
    +SESSION   -SESSION                              it begins, or ends, to work on a session

A connection with any other line is closed; the process then connects again. `?` to the main process asks for the server again: the master may have changed.
"""

from __future__ import annotations

import json
import os
import selectors
import signal
import socket
import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

#: Seconds between two reports of a process that runs.
_REPORT_EVERY_S = 2.0
#: Seconds to connect to the server, and to wait for each of its answers.
_TIMEOUT_S = 2.0
#: Seconds between two attempts to reach the server, and between two reads: a fast worker sends many lines.
_RETRY_EVERY_S, _REST_S = 0.5, 0.02
#: Seconds in which a process whose connection was lost may connect again, and in which the first one must connect.
_RECONNECT_S, _START_S = 0.3, 60.0
#: Seconds for which the end of a process is reported again if the server does not answer: of one that worked on
#: sessions until the leases of its turns have expired, and of any other one.
_GIVE_UP_S, _GIVE_UP_IDLE_S = 30.0, 2.0


class Refused(Exception):
    """The server answered with an error."""


class Server:
    """Connection to the server of the sessions."""

    def __init__(self, server_info: dict[str, Any]) -> None:
        self.lease_ms = server_info["lease_ms"]
        self._script = server_info["script"]
        self._known = server_info
        self._socket: socket.socket | None = None

    def report(self, worker: Process, *, lease_ms: int, added: list[str], removed: list[str]) -> bool:
        """Report a process; return whether the server knew its lease.

        Raises:
            OSError, Refused: The server does not answer, or refuses the command.
        """
        values = [worker.name, str(lease_ms), json.dumps(added), json.dumps(removed)]
        try:
            connection = self._socket or self._connect()
            keys = [self._known["key_prefix"] + key for key in worker.keys]
            command = ["EVAL", self._script, str(len(worker.keys)), *keys, *values]
            return bool(self._ask(connection, command) == [b"known"])
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close the connection."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _connect(self) -> socket.socket:
        host, port = self._known["address"]
        plain = socket.create_connection((host, port), timeout=_TIMEOUT_S)
        tls = self._known["tls"]
        connection = self._socket = plain if tls is None else _secure(plain, host, tls)
        self._answers = connection.makefile("rb")
        for command in self._known["greeting"]:
            self._ask(connection, command)
        return connection

    def _ask(self, connection: socket.socket, command: list[str]) -> Any:
        parts = [part.encode() for part in command]
        packed = b"".join(b"$%d\r\n%s\r\n" % (len(part), part) for part in parts)
        connection.sendall(b"*%d\r\n%s" % (len(parts), packed))
        return self._answer()

    def _answer(self) -> Any:
        line = self._answers.readline()
        if not line.endswith(b"\r\n"):
            raise ConnectionError("closed")
        kind, rest = line[:1], line[1:-2]
        if kind == b"-":
            raise Refused(rest)
        if kind == b"*":
            return [self._answer() for _ in range(int(rest))]
        return self._answers.read(int(rest) + 2)[:-2] if kind == b"$" else rest


def _secure(plain: socket.socket, host: str, options: dict[str, Any]) -> socket.socket:
    """Return the connection over TLS, with the options of redis-py."""
    import ssl  # 2 MB, which most installations do not need

    context = ssl.create_default_context()
    context.check_hostname = bool(options["check_hostname"])
    context.verify_mode = ssl.VerifyMode[f"CERT_{options['cert_reqs']}"]
    if options["certfile"] or options["keyfile"]:
        context.load_cert_chain(options["certfile"], options["keyfile"], options["password"])
    if options["ca_certs"] or options["ca_path"] or options["ca_data"]:
        context.load_verify_locations(options["ca_certs"], options["ca_path"], options["ca_data"])
    return context.wrap_socket(plain, server_hostname=host)


class Process:
    """A process of the worker, as its connection shows it."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self.name = ""
        self.keys: list[str] = []
        self._is_main = False
        #: Time of the end of its connection; None: it is connected.
        self.ended_at: float | None = None
        self._unread = b""
        #: Sessions that it works on, and those that the server knows.
        self._open: set[str] = set()
        self._reported: set[str] = set()
        self._next_report = 0.0

    def read(self) -> dict[str, Any] | None:
        """Read what it has sent; return the server if it named one."""
        server = None
        try:
            data = self.connection.recv(65_536)
        except BlockingIOError:
            return None
        except OSError:
            data = b""
        if not data:
            self.ended_at = time.monotonic()
        *lines, self._unread = (self._unread + data).split(b"\n")
        try:
            for line in lines:
                server = self._take(line.decode()) or server
        except (ValueError, LookupError, TypeError):
            self.ended_at = time.monotonic()
        return server

    def _take(self, line: str) -> dict[str, Any] | None:
        """Take a line; return the server if it names one. Raises ValueError, LookupError or TypeError for a wrong one."""
        if not self.name:
            process_info = json.loads(line)
            self.keys, self._open, self._is_main = (
                process_info["keys"],
                set(process_info["held"]),
                process_info["is_main"],
            )
            self.name = process_info["process"]
        elif line.startswith("+"):
            self._open.add(line[1:])
        elif line.startswith("-"):
            self._open.discard(line[1:])
        elif self._is_main:
            server: dict[str, Any] = json.loads(line)["server"]
            return server
        else:
            raise ValueError(line)
        return None

    def is_given_up(self, now: float) -> bool:
        """Return whether its end is not reported any more."""
        patience_s = _GIVE_UP_S if self._open else _GIVE_UP_IDLE_S
        return self.ended_at is not None and now > self.ended_at + patience_s

    def report(self, server: Server) -> None:
        """Report it, if there is something to report.

        Raises:
            OSError, Refused: As of the server.
        """
        now, has_ended = time.monotonic(), self.ended_at is not None
        is_due = has_ended or now >= self._next_report
        added = self._open - self._reported
        if not (is_due or added):
            return
        removed = self._reported - self._open if is_due else set()
        lease_ms = 0 if has_ended else server.lease_ms
        if not server.report(self, lease_ms=lease_ms, added=sorted(added), removed=sorted(removed)):
            server.report(self, lease_ms=lease_ms, added=sorted(self._open), removed=[])
        self._reported = (self._reported | added) - removed
        if is_due:
            self._next_report = now + _REPORT_EVERY_S


class Heartbeat:
    """All processes of one worker, and the server to which they are reported."""

    def __init__(self, listener: socket.socket) -> None:
        self._listener = listener
        self._selector = selectors.DefaultSelector()
        self._selector.register(listener, selectors.EVENT_READ)
        self._processes: list[Process] = []
        self._server: Server | None = None
        self._retry_at = 0.0
        self._began = time.monotonic()

    def run(self) -> None:
        """Report the processes until the last one has ended."""
        while self._processes or time.monotonic() < self._began + _START_S:
            # The end of a process is reported soon; a report that failed is repeated.
            is_waiting = any(process.ended_at is not None for process in self._processes) or self._retry_at
            for key, _ in self._selector.select(_RECONNECT_S if is_waiting else _REPORT_EVERY_S / 2):
                if key.data is None:
                    self._accept()
                else:
                    self._read(key.data)
            if time.monotonic() >= self._retry_at:
                self._report_all()
            time.sleep(_REST_S)

    def _accept(self) -> None:
        with suppress(OSError):
            connection, _ = self._listener.accept()
            connection.setblocking(False)
            process = Process(connection)
            self._selector.register(connection, selectors.EVENT_READ, process)
            self._processes.append(process)

    def _read(self, process: Process) -> None:
        server_info = process.read()
        if server_info is not None:
            if self._server is not None:
                self._server.close()
            self._server, self._retry_at = Server(server_info), 0.0
        if process.ended_at is not None:
            self._selector.unregister(process.connection)
            process.connection.close()
            self._began = 0.0

    def _report_all(self) -> None:
        now, retry_at = time.monotonic(), 0.0
        for process in list(self._processes):
            if process.ended_at is not None:
                names = [other.name for other in self._processes if other is not process]
                if not process.name or process.name in names or process.is_given_up(now):
                    self._processes.remove(process)
                    continue
                if now < process.ended_at + _RECONNECT_S:
                    continue
            if not process.name or self._server is None:
                continue
            try:
                process.report(self._server)
            except (OSError, Refused) as error:
                retry_at = self._retry_at = now + _RETRY_EVERY_S
                self._ask_for_server()
                if isinstance(error, OSError):
                    return
                continue
            if process.ended_at is not None:
                self._processes.remove(process)
        self._retry_at = retry_at

    def _ask_for_server(self) -> None:
        for process in self._processes:
            if process.ended_at is None:
                with suppress(OSError):
                    process.connection.send(b"?")


def main(folder: str, descriptor: int, main_process: int) -> None:
    """Run the heartbeat; then remove the folder of the socket if the main process of the worker was killed.

    A main process that runs may start another heartbeat process with the same socket.
    """
    if sys.platform == "linux":
        import ctypes

        # Other processes of the user cannot read its memory, which has the password of Redis: PR_SET_DUMPABLE.
        ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)
    # The process ends with the processes that it watches, not with their terminal or service.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_IGN)
    os.chdir("/")
    with socket.socket(fileno=descriptor) as listener:
        listener.setblocking(False)
        Heartbeat(listener).run()
    if os.getppid() == main_process:
        return
    with suppress(OSError):
        os.unlink(f"{folder}/heartbeat")  # noqa: PTH108 - pathlib takes a megabyte
        os.rmdir(folder)  # noqa: PTH106


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
