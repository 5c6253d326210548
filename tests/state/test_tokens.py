"""Tokens of callers over HTTP."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from redis import Redis

from live import until
from symposia.errors import InvalidInput, Unauthorized
from symposia.models.identity import Caller, Scope
from symposia.state import tokens
from symposia.state.redis.connect import connect
from symposia.state.redis.keys import TOKEN_INDEX, token_key
from symposia.state.tokens import TokenStore


@pytest.fixture
def client(redis_url: str) -> Iterator[Redis]:
    with connect(redis_url) as client:
        yield client


@pytest.fixture
def store(client: Redis) -> TokenStore:
    return TokenStore(client)


def test_token_finds_its_caller(store: TokenStore) -> None:
    token = store.create("ann", tenant="shop", scopes=["read", "reply"])
    ann = Caller("ann", "shop", frozenset({Scope.READ, Scope.REPLY}))
    assert store.find_caller(token.text) == ann
    (entry,) = store.entries()
    assert (entry.id, entry.caller) == (token.id, ann)
    assert entry.expires_ms - entry.created_ms == 90 * 86_400_000
    of_all = store.create("root", tenant=None, scopes="admin", expires="1d")
    assert store.find_caller(of_all.text) == Caller("root", None, frozenset({Scope.ADMIN}))
    assert [it.id for it in store.entries()] == [of_all.id, token.id]


def test_secret_is_not_stored(store: TokenStore, client: Redis) -> None:
    token = store.create("ann", tenant="shop", scopes=["read"])
    secret = token.text.split("_", 2)[2]
    stored = client.hgetall(token_key(token.id))
    assert secret not in str(stored)
    assert secret not in repr(token)


def test_revoked_token_is_refused_at_once(store: TokenStore, client: Redis) -> None:
    token = store.create("ann", tenant="shop", scopes=["read"])
    assert store.revoke(token.id)
    assert not store.revoke(token.id)
    with pytest.raises(Unauthorized):
        store.find_caller(token.text)
    assert store.entries() == []
    assert not client.exists(TOKEN_INDEX)


def test_expired_token_is_refused(store: TokenStore, client: Redis) -> None:
    token = store.create("ann", tenant="shop", scopes=["read"], expires=1)
    until(lambda: not client.exists(token_key(token.id)), what="the expiry")
    with pytest.raises(Unauthorized):
        store.find_caller(token.text)
    assert store.entries() == []


def test_index_expires_with_the_last_token(store: TokenStore, client: Redis) -> None:
    store.create("ann", tenant="shop", scopes=["read"], expires="10d")
    store.create("bob", tenant="shop", scopes=["read"], expires="2d")
    assert 9 * 86_400 < client.ttl(TOKEN_INDEX) <= 10 * 86_400


@pytest.mark.parametrize("change", ["id", "secret", "prefix", "cut", "longer", "empty", "control"])
def test_other_text_is_refused(store: TokenStore, change: str) -> None:
    text = store.create("ann", tenant="shop", scopes=["read"]).text
    _, token_id, secret = text.split("_", 2)
    other = {
        "id": f"sym_{'0' * 16}_{secret}",
        "secret": f"sym_{token_id}_{'A' * 43}",
        "prefix": text.replace("sym", "SYM"),
        "cut": text[:-1],
        "longer": f"{text}\n",
        "empty": "",
        "control": "sym_{tokens}:index_\x00",
    }[change]
    with pytest.raises(Unauthorized):
        store.find_caller(other)


@pytest.mark.parametrize(
    ("field", "values"),
    [
        ("name", {"name": "a\nb"}),
        ("name", {"name": ""}),
        ("name", {"name": "x" * 101}),
        ("tenant", {"tenant": "a b"}),
        ("tenant", {"tenant": ""}),
        ("scopes", {"scopes": ["read", "write"]}),
        ("scopes", {"scopes": []}),
        ("expires", {"expires": "0s"}),
        ("expires", {"expires": "4000d"}),
        ("expires", {"expires": "soon"}),
    ],
)
def test_wrong_value_names_its_field(store: TokenStore, field: str, values: dict[str, object]) -> None:
    given = {"name": "ann", "tenant": "shop", "scopes": ["read"], **values}
    with pytest.raises(InvalidInput) as error:
        store.create(given.pop("name"), **given)
    assert error.value.field == field
    assert store.entries() == []


def test_number_of_tokens_is_limited(store: TokenStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokens, "MAX_TOKENS", 2)
    first = store.create("ann", tenant="shop", scopes=["read"])
    store.create("bob", tenant="shop", scopes=["read"])
    with pytest.raises(InvalidInput, match="revoke some"):
        store.create("cyd", tenant="shop", scopes=["read"])
    store.revoke(first.id)
    store.create("cyd", tenant="shop", scopes=["read"])


def test_foreign_record_is_refused(store: TokenStore, client: Redis) -> None:
    token = store.create("ann", tenant="shop", scopes=["read"])
    client.hset(token_key(token.id), "scopes", "everything")
    with pytest.raises(Unauthorized):
        store.find_caller(token.text)
    assert store.entries() == []
