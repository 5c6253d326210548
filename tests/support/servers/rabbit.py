"""A RabbitMQ node of the tests' own: started, stopped for a while, looked into, and gone with the tests."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from live import until
from scaling import patient
from servers.ports import own_port
from symposia.client.processes import end_with_parent
from symposia.models.text.ids import new_id

HOST = "127.0.0.1"
MISSING = "there is no RabbitMQ: `make debian-packages` installs one"
#: The program itself: Debian's /usr/sbin/rabbitmq-server changes to the user and the folders of its service.
_DEBIAN = Path("/usr/lib/rabbitmq/bin/rabbitmq-server")
#: Queues of a virtual host: name, ready, unacknowledged.
_QUEUES = (
    '[io_lib:format("~s ~p ~p;", [N, R, U]) || [{{name, {{resource, _, _, N}}}}, {{messages_ready, R}}, '
    "{{messages_unacknowledged, U}}] <- "
    'rabbit_amqqueue:info_all(<<"{vhost}">>, [name, messages_ready, messages_unacknowledged])]'
)


@dataclass(frozen=True, slots=True)
class Queue:
    """Number of messages of a queue."""

    ready: int
    unacknowledged: int


@cache
def program() -> str | None:
    """The server's program; None where the node or what controls it is not installed."""
    needed = shutil.which("erl_call") and shutil.which("epmd")
    found = str(_DEBIAN) if _DEBIAN.exists() else shutil.which("rabbitmq-server")
    return found if needed else None


class Rabbit:
    """One node on loopback, with everything it writes in one folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        # The mapper of Erlang's node names listens on a port of its own, so that none is left behind.
        self._port, self._mapper_port, self._control_port = _different_ports(3)
        self._processes: list[subprocess.Popen[bytes]] = []
        home = folder / "home"
        home.mkdir(parents=True)
        cookie = home / ".erlang.cookie"
        cookie.write_text(new_id())
        cookie.chmod(0o400)
        (folder / "plugins").write_text("[].\n")
        (folder / "rabbitmq.conf").write_text(f"listeners.tcp.default = {HOST}:{self._port}\n")
        #: Also that of `rabbitmqctl` for this node.
        self.environment = {
            **os.environ,
            "HOME": str(home),
            "ERL_EPMD_PORT": str(self._mapper_port),
            "ERL_EPMD_ADDRESS": HOST,
            # The shell script then becomes the node instead of waiting for it.
            "RABBITMQ_ALLOW_INPUT": "1",
            "RABBITMQ_CONF_ENV_FILE": os.devnull,
            "RABBITMQ_USE_LONGNAME": "true",
            "RABBITMQ_NODENAME": f"tests@{HOST}",
            "RABBITMQ_DIST_PORT": str(self._control_port),
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "-kernel inet_dist_use_interface {127,0,0,1}",
            "RABBITMQ_CONFIG_FILE": str(folder / "rabbitmq.conf"),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(folder / "plugins"),
            "RABBITMQ_PLUGINS_EXPAND_DIR": str(folder / "expanded"),
            "RABBITMQ_MNESIA_BASE": str(folder / "data"),
            "RABBITMQ_LOG_BASE": str(folder / "log"),
            "RABBITMQ_PID_FILE": str(folder / "pid"),
        }

    def url_of(self, user: str, password: str) -> str:
        """The URL of the virtual host `/` for a user."""
        return f"amqp://{user}:{password}@{HOST}:{self._port}//"

    def start(self, node_program: str) -> None:
        """Start the node and wait until it serves."""
        mapper = ["epmd", "-port", str(self._mapper_port), "-address", HOST]
        self._launch(mapper)
        self._launch([node_program, "-noinput"])
        until(self.serves, timeout_s=120, what="RabbitMQ serves")

    def close(self) -> None:
        """End the node; its helpers end with it."""
        for process in self._processes:
            process.kill()
            process.wait(patient(10))
        self._processes.clear()

    def serves(self) -> bool:
        """Whether clients can connect."""
        return "true" in self._call("rabbit:is_running()", check=False)

    def stop_app(self) -> None:
        """Close every connection and accept none, as `rabbitmqctl stop_app` does."""
        self._call("rabbit:stop()")

    def start_app(self) -> None:
        """Serve again, with the messages from before."""
        self._call("rabbit:start()")
        until(self.serves, what="RabbitMQ serves again")

    def close_connections(self) -> None:
        """Close every connection, as an operator may."""
        self._call('rabbit_networking:close_connections(rabbit_networking:connections(), "closed by a test")')

    def delete_queue(self, url: str, name: str) -> None:
        """Delete a queue of a virtual host with its messages, if it exists; its consumers are notified."""
        queue = f'rabbit_misc:r(<<"{url.rpartition("/")[2]}">>, queue, <<"{name}">>)'
        found, delete = (
            f"rabbit_amqqueue:lookup({queue})",
            'rabbit_amqqueue:delete(Q, false, false, <<"a test">>)',
        )
        self._call(f"case {found} of {{ok, Q}} -> {delete}; _ -> missing end")

    @contextmanager
    def virtual_host(self) -> Iterator[str]:
        """The URL of an empty virtual host, deleted afterwards."""
        name = f"t{new_id()}"
        self._call(f'rabbit_vhost:add(<<"{name}">>, <<"guest">>)')
        everything = ", ".join(['<<".*">>'] * 3)
        self._call(
            f'rabbit_auth_backend_internal:set_permissions(<<"guest">>, <<"{name}">>, {everything}, <<"guest">>)'
        )
        try:
            yield f"amqp://guest:guest@{HOST}:{self._port}/{name}"
        finally:
            self._call(f'rabbit_vhost:delete(<<"{name}">>, <<"guest">>)')

    def queues(self, url: str) -> dict[str, Queue]:
        """Return the queues of a virtual host by name."""
        told = self._call(_QUEUES.format(vhost=url.rpartition("/")[2]).join(("lists:flatten(", ")")))
        found = re.findall(r"(\S+) (\d+) (\d+);", told.replace('"', ""))
        return {name: Queue(int(ready), int(unacknowledged)) for name, ready, unacknowledged in found}

    def _launch(self, command: Sequence[str]) -> None:
        with (self._folder / "output").open("ab") as log:
            self._processes.append(
                subprocess.Popen(
                    end_with_parent(command, signal.SIGKILL),
                    env=self.environment,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    cwd=self._folder,
                )
            )

    def _call(self, expression: str, *, check: bool = True) -> str:
        """Evaluate an Erlang expression on the node; return what it prints. A connection that fails is tried again."""

        def evaluate() -> subprocess.CompletedProcess[str] | None:
            done = subprocess.run(
                ["erl_call", "-address", f"{HOST}:{self._control_port}", "-timeout", "60", "-e"],
                env=self.environment,
                input=f"{expression}.\n",
                capture_output=True,
                text=True,
                check=False,
                timeout=patient(90),
            )
            return None if check and "failed to connect to node" in done.stdout + done.stderr else done

        done = until(evaluate, what=f"the node takes {expression}")
        if check and not done.stdout.startswith("{ok,"):
            raise RuntimeError(f"{expression}: {done.stdout}{done.stderr}")
        return done.stdout


def _different_ports(number: int) -> Sequence[int]:
    ports: set[int] = set()
    while len(ports) < number:
        ports.add(own_port())
    return list(ports)


@contextmanager
def own_rabbit(node_program: str) -> Iterator[Rabbit]:
    """A node in a temporary folder, on free ports."""
    with tempfile.TemporaryDirectory(prefix="symposia-rabbitmq-") as folder:
        node = Rabbit(Path(folder))
        try:
            node.start(node_program)
            yield node
        finally:
            node.close()
