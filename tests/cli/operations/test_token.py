"""`symposia token`."""

from __future__ import annotations

from symposia.client import Client
from symposia.config.settings import load_settings

CREATE = ("token", "create", "--name", "ann")


def test_token_is_created_listed_and_revoked(terminal):
    done = terminal.call(*CREATE, "--tenant", "shop", "--scope", "read,reply", "--scope", "submit")
    text = done.out.strip()
    assert text.startswith("sym_")
    assert text not in done.err
    token_id = text.split("_")[1]
    with Client(load_settings(**terminal.settings)) as client:
        assert client.tokens.find_caller(text).tenant == "shop"
    listed = terminal.call("token", "list").out
    assert listed.splitlines()[1].split()[:4] == [token_id, "ann", "shop", "submit,read,reply"]
    assert text not in listed
    assert terminal.call("token", "revoke", token_id).out == f"revoked token {token_id}\n"
    assert terminal.call("token", "revoke", token_id).code == 3
    assert terminal.call("token", "list", "--json").json() == []


def test_token_needs_a_tenant_or_all(terminal):
    assert terminal.call(*CREATE, "--scope", "read").code == 2
    assert terminal.call(*CREATE, "--scope", "read", "--tenant", "shop", "--all-tenants").code == 2
    token = terminal.call(*CREATE, "--scope", "admin", "--all-tenants", "--expires", "1d", "--json").json()
    assert (token["tenant"], token["scopes"]) == (None, ["admin"])
    assert token["token"].startswith(f"sym_{token['id']}_")
