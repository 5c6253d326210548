"""The addresses of docs/deploying-redis.md work, for the Redis user of docs/security.md."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from documents.installation import installed
from documents.lines import ROOT
from live import until
from programs import find_program
from servers.granted import PASSWORD, read_rule
from servers.rabbit import Rabbit
from servers.redis_nodes import Node, own_cluster, own_sentinels
from servers.tls import certificate

pytestmark = [pytest.mark.long, pytest.mark.timeout(240)]

PAGE = (ROOT / "docs/deploying-redis.md").read_text()
HOSTS = re.compile(r"(?<=@)[^/]+")


def address(beginning: str, nodes: list[Node]) -> str:
    """The address of the page that begins so, with the hosts of these servers."""
    (found,) = re.findall(rf"^SYMPOSIA_\w+=({re.escape(beginning)}.*)$", PAGE, re.MULTILINE)
    return HOSTS.sub(",".join(it.address for it in nodes), found.replace("PASSWORD", PASSWORD))


def add_user(*nodes: Node) -> None:
    for node in nodes:
        node.client.execute_command("ACL", "SETUSER", *read_rule("security.md", "symposia").split()[1:])


def complete_a_session(folder: Path, **settings: str) -> None:
    with installed(folder, **settings) as installation:
        session = installation.complete(installation.submit("examples/pair.yaml"))
        search = ("search", "subtracts")
        until(lambda: session[:8] in installation.terminal.call(*search).out, what="it is archived")
        assert installation.node.client.dbsize() == 0  # all of it is at the other address


def test_sentinel(tmp_path: Path) -> None:
    with own_sentinels(tmp_path / "nodes") as watched:
        add_user(watched.master, watched.replica)
        complete_a_session(tmp_path, redis_url=address("redis+sentinel://", watched.sentinels))


def test_cluster(tmp_path: Path, rabbit: Rabbit) -> None:
    with own_cluster(tmp_path / "nodes") as cluster:
        add_user(*cluster.nodes)
        url = address("redis+cluster://", cluster.masters[:2])
        complete_a_session(tmp_path, redis_url=url, broker_url=rabbit.url_of("guest", "guest"))


def test_tls(tmp_path: Path) -> None:
    program = Path(find_program("redis-server"))
    made, key = certificate(tmp_path, "server")
    files = ("--tls-cert-file", str(made), "--tls-key-file", str(key), "--tls-ca-cert-file", str(made))
    node = Node(tmp_path / "node", *files, "--tls-auth-clients", "no", program=program, certificate=made)
    try:
        node.start()
        add_user(node)
        url = address("rediss://", [node]).replace("/etc/symposia/ca.pem", str(made))
        complete_a_session(tmp_path, redis_url=url)
    finally:
        node.close()
