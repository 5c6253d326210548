"""The console lines of docs/webhooks.md, with a receiver that fails for a while."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from documents.installation import Installation, installed
from documents.walk import Walk
from live import until
from review_tools.git_tree import GitTree
from servers.remote_system import SECRET, RemoteSystem
from symposia.state.redis.keys import webhook_delivery_key

pytestmark = [pytest.mark.long, pytest.mark.timeout(240)]

WEBHOOKS = """
[webhooks.ops]
url = "{url}"
events = ["session.ended"]
secret_env = "OPS_SECRET"
networks = ["127.0.0.0/8"]
"""
DELIVERIES = """
[pulls]
kind = "github"
repository = "example/shop"
token_env = "HOST_TOKEN"
"""


@pytest.fixture
def receiver() -> Iterator[RemoteSystem]:
    receiver = RemoteSystem()
    yield receiver
    receiver.close()


@pytest.fixture
def installation(
    tmp_path: Path, receiver: RemoteSystem, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Installation]:
    """An installation with the webhook `ops`, and with the checkout and the delivery of the schedule."""
    monkeypatch.setenv("OPS_SECRET", SECRET)
    monkeypatch.setenv("HOST_TOKEN", "unused")
    tree = GitTree(tmp_path / "shop")
    tree.put("app.py", "")
    tree.commit()
    (tmp_path / "webhooks.toml").write_text(WEBHOOKS.format(url=receiver.url))
    (tmp_path / "deliveries.toml").write_text(DELIVERIES)
    settings = {
        "webhooks_file": str(tmp_path / "webhooks.toml"),
        "deliveries_file": str(tmp_path / "deliveries.toml"),
        "review_roots": json.dumps({"shop": str(tree.folder)}),
    }
    with installed(tmp_path, **settings) as installation:
        yield installation


def fail_delivery(installation: Installation, receiver: RemoteSystem) -> str:
    """Return the id of a delivery that the receiver has refused until it was a day old."""

    def list_deliveries(*options: str) -> list[dict[str, str]]:
        return installation.terminal.call("webhook", "deliveries", "ops", "--json", *options).json()

    receiver.answers.extend([(503, {})] * 100)
    installation.complete(installation.submit("examples/pair.yaml"))
    (waiting,) = until(list_deliveries, what="a delivery")
    installation.node.client.hset(webhook_delivery_key(waiting["id"]), "created_ms", 0)
    until(lambda: list_deliveries("--failed"), what="it has failed")
    receiver.answers.clear()
    return waiting["id"]


def test_webhooks(installation: Installation, receiver: RemoteSystem) -> None:
    walk = Walk(installation.terminal)
    failed: list[str] = []

    def fail() -> None:
        failed.append(fail_delivery(installation, receiver))
        walk.values["1f2e3d4c"] = failed[0][:8]

    def wait_for_delivery(out: str) -> None:
        assert out == f"Delivery {failed[0]} is queued.\n"
        until(lambda: receiver.deliveries, what="it is sent again")

    shown: list[str] = []
    walk.before = {"symposia webhook deliveries": fail, "symposia webhook send": receiver.deliveries.clear}
    walk.after = {
        "symposia webhook send": wait_for_delivery,
        "symposia": shown.append,
    }
    walk.follow("webhooks.md")
    ((headers, _),) = receiver.deliveries
    assert headers["webhook-id"] == failed[0]
    tested, listed, deliveries, schedule = shown
    assert tested.startswith("Delivered to ops in ")
    assert "session.ended" in listed
    assert deliveries.startswith(f"{failed[0]}  ops  session.ended  ")
    assert deliveries.endswith("127.0.0.1 answered HTTP 503\n")
    assert "pulls" in schedule
