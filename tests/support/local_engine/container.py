"""A container without a container: a group of processes that lives and dies as one."""

from __future__ import annotations

import os
import secrets
import shlex
import signal
import socket
import subprocess
import tarfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from local_engine.programs import HOST, listening, local_command
from scaling import patient
from servers.ports import own_port
from symposia.client.processes import end_with_parent

#: All that a container sees of the environment of the tests.
INHERITED = ("PATH", "LANG", "LC_ALL", "TZ")


@dataclass(frozen=True)
class Order:
    """What docker-py's `containers.run` and `create` are asked for, as far as anybody here asks."""

    image: str
    command: Sequence[str] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    network: str = ""
    #: Such as `6379/tcp`.
    ports: Sequence[str] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    #: Where the container sees a folder of this machine.
    mounts: Mapping[str, Path] = field(default_factory=dict)


class LocalContainer:
    """Has of docker-py's Container what pytest-docker-tools and pytest-celery use.

    Attributes:
        status: `created`, `running` or `exited`, as of the last look.
    """

    def __init__(self, order: Order, *, folder: Path) -> None:
        self.id = secrets.token_hex(32)
        self.name = f"local-{self.id[:12]}"
        self.status = "created"
        self._order = order
        self._folder = folder
        # Kept over a restart: others were told.
        self._ports = {name: own_port() for name in order.ports}
        self._log = folder / "log"
        self._log_from = 0
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def labels(self) -> dict[str, str]:
        return dict(self._order.labels)

    @property
    def attrs(self) -> dict[str, Any]:
        """The output of `docker inspect`."""
        # Other containers find this one under its host name, and here that takes the port as well.
        addresses = [f"{HOST}:{port}" for port in self._ports.values()]
        published = {name: [{"HostIp": HOST, "HostPort": str(port)}] for name, port in self._ports.items()}
        return {
            "Config": {
                "Image": self._order.image,
                "Hostname": addresses[0] if addresses else self.id[:12],
                "Env": [f"{name}={value}" for name, value in self._order.environment.items()],
                "Labels": self.labels,
            },
            "NetworkSettings": {"Networks": {self._order.network: {"IPAddress": HOST}}, "Ports": published},
            "HostConfig": {"PortBindings": published},
            "Mounts": [],
        }

    def start(self) -> None:
        """Start a process group with a new log, so that an old "ready" does not count."""
        self._log.touch()
        self._log_from = self._log.stat().st_size
        command = local_command(self._order.command, hostname=self.id[:12], ports=self._ports)
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                end_with_parent([self._here(argument) for argument in command], signal.SIGKILL),
                cwd=self._working_folder,
                env=self._environment(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self.status = "running"

    def reload(self) -> None:
        """Looks whether it still runs."""
        if self._process is not None and self.status == "running" and self._process.poll() is not None:
            self.status = "exited"
            # As in a container: when the first process has ended, so have all.
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)

    def kill(self, signal: str | int | None = None) -> None:
        """Sends a signal to the first process; SIGKILL, the default, ends them all before this returns."""
        self._send(_number(signal or "SIGKILL"))

    def _send(self, number: signal.Signals) -> None:
        self.reload()
        if self._process is None or self.status != "running":
            return
        if number != signal.SIGKILL:
            self._process.send_signal(number)
            return
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, number)
        self._process.wait(patient(10))
        self.reload()

    def stop(self, *, timeout: float = 10) -> None:
        """Asks it to end, and insists after `timeout` seconds."""
        self._send(signal.SIGTERM)
        if self._process is not None:
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(patient(timeout))
        self._send(signal.SIGKILL)

    def restart(self, *, timeout: float = 10) -> None:
        """Stops and starts, on the same ports and with the same files."""
        self.stop(timeout=timeout)
        self.start()

    def wait(self, *, timeout: float | None = None) -> dict[str, int]:
        """Its exit status, once it has ended."""
        return {"StatusCode": self._process.wait(timeout) if self._process else 0}

    def remove(self, *, force: bool = False) -> None:
        """Ends it. Its files go with the engine's folder."""
        if force:
            self._send(signal.SIGKILL)

    def logs(self) -> bytes:
        """What it printed since it was started last."""
        with self._log.open("rb") as log:
            log.seek(self._log_from)
            return log.read()

    def exec_run(self, command: str | Sequence[str]) -> tuple[int, bytes]:
        """Runs another program in it: exit code and output."""
        arguments = shlex.split(command) if isinstance(command, str) else list(command)
        if arguments[:2] == ["cat", "/proc/net/tcp"]:
            return 0, listening(self._ports, open_ports=[p for p in self._ports.values() if _is_open(p)])
        local = local_command(arguments, hostname=self.id[:12], ports=self._ports)
        done = subprocess.run(
            [self._here(argument) for argument in local],
            cwd=self._working_folder,
            env=self._environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=patient(30),
            check=False,
        )
        return done.returncode, done.stdout

    def put_archive(self, path: str, data: IO[bytes]) -> None:
        """Unpacks a tar file into one of its mounts."""
        with tarfile.open(fileobj=data) as archive:
            archive.extractall(self._here(path), filter="data")

    @property
    def _working_folder(self) -> Path:
        return next(iter(self._order.mounts.values()), self._folder)

    def _environment(self) -> dict[str, str]:
        own = {name: self._here(value) for name, value in self._order.environment.items()}
        path = [own.get("PYTHONPATH"), os.environ.get("PYTHONPATH")]
        return {
            **{name: os.environ[name] for name in INHERITED if name in os.environ},
            "HOME": str(self._folder),
            **own,
            "PYTHONPATH": os.pathsep.join(filter(None, path)),
        }

    def _here(self, text: str) -> str:
        """A path in the container is one of this machine."""
        for mount, folder in self._order.mounts.items():
            if text == mount or text.startswith(f"{mount}/"):
                return str(folder) + text.removeprefix(mount)
        return text


def _number(name: str | int) -> signal.Signals:
    return signal.Signals(name) if isinstance(name, int) else signal.Signals[name]


def _is_open(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex((HOST, port)) == 0
