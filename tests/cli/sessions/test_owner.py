"""The owner of a session: stored only if it is given, and shown."""

from __future__ import annotations

import json

import pytest

from symposia.client import Client
from symposia.config.settings import load_settings
from symposia.errors import InvalidInput
from symposia.state.redis.connect import connect
from symposia.state.redis.keys import session_key

COLLAB = {"title": "t", "purpose": "p", "mode": "round_robin", "participants": [{"participant_id": "ann"}]}


def test_owner_is_stored_only_if_given(terminal):
    with (
        Client(load_settings(**terminal.settings)) as client,
        connect(terminal.settings["redis_url"]) as redis,
    ):
        owned = client.submit(COLLAB, agents={"ann": "echo"}, owner="bob@shop", draft=True)
        other = client.submit(COLLAB, agents={"ann": "echo"}, draft=True)
        stored = [json.loads(redis.hget(session_key(job.id, "session"), "spec")) for job in (owned, other)]
        assert stored[0].pop("owner") == "bob@shop"
        assert "owner" not in stored[1]
        assert stored[0].keys() == stored[1].keys()
        assert "owner: bob@shop" in terminal.call("show", owned.id).out
        assert terminal.call("show", owned.id, "--json").json()["owner"] == "bob@shop"
        assert "owner" not in terminal.call("show", other.id).out
        owned.cancel()
        other.cancel()


@pytest.mark.parametrize("owner", ["a\nb", "x" * 101, ""])
def test_wrong_owner_is_refused(terminal, owner):
    with (
        Client(load_settings(**terminal.settings)) as client,
        pytest.raises(InvalidInput, match=r"^owner"),
    ):
        client.submit(COLLAB, agents={"ann": "echo"}, owner=owner)
