"""Tokens of callers over HTTP, in Redis. The client must decode.

Only the SHA-256 digest of the secret is stored. The secret is random, so a slow hash would add nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from hashlib import sha256
from hmac import compare_digest
from secrets import token_hex, token_urlsafe
from typing import Final, cast

from redis import Redis

from ..models.errors import InvalidInput, Unauthorized
from ..models.identity import MAX_NAME, NAME_PATTERN, Caller, Scope
from ..models.sessions.limits import TENANT_PATTERN
from ..models.text.durations import read_span
from .redis.keys import TOKEN_INDEX, token_key
from .redis.scripts import ScriptValue, call_script

#: Maximum number of valid tokens.
MAX_TOKENS: Final = 1_000
#: Seconds after which a token expires, by default and at most.
DEFAULT_TTL_S: Final = 90 * 86_400
MAX_TTL_S: Final = 3_650 * 86_400

_TOKEN = re.compile(r"sym_([0-9a-f]{16})_([A-Za-z0-9_-]{43})")
_ID = re.compile(r"[0-9a-f]{16}")


@dataclass(frozen=True, slots=True)
class Token:
    """A token, without its secret."""

    id: str
    caller: Caller
    #: Milliseconds since the epoch.
    created_ms: int
    expires_ms: int


@dataclass(frozen=True, slots=True)
class NewToken(Token):
    """A token that was just created."""

    #: What the caller sends as `Authorization: Bearer TEXT`. It cannot be read again.
    text: str = field(default="", repr=False)


class TokenStore:
    """Tokens with which callers use Symposia over HTTP.

    Args:
        client: Redis client.
    """

    def __init__(self, client: Redis) -> None:
        self._client = client

    def create(
        self,
        name: str,
        *,
        tenant: str | None,
        scopes: Iterable[str],
        expires: int | str = DEFAULT_TTL_S,
    ) -> NewToken:
        """Create a token.

        Args:
            name: Who uses it; also the name in events, such as `cancelled by ann`.
            tenant: The tenant whose sessions it sees. None: it sees the sessions of all tenants.
            scopes: What it may do: `submit`, `read`, `reply`, `control`, `admin`.
            expires: Time until it expires: seconds, or a text such as `90d`. At most ten years.

        Returns:
            The token with its text, which cannot be read again.

        Raises:
            InvalidInput: A value breaks a rule, or 1,000 tokens are valid.
            RedisUnavailable: Redis does not answer.
        """
        caller = Caller(check_name(name), _check_tenant(tenant), read_scopes(scopes))
        ttl_s = _read_ttl(expires)
        token_id, secret = token_hex(8), token_urlsafe(32)
        args: dict[str, ScriptValue] = {"id": token_id, "max_tokens": MAX_TOKENS, "ttl_ms": ttl_s * 1000}
        fields = ["digest", _digest(secret), "name", caller.name, "scopes", ",".join(sorted(caller.scopes))]
        if caller.tenant is not None:
            fields += ["tenant", caller.tenant]
        keys = [TOKEN_INDEX, token_key(token_id)]
        answer = call_script(self._client, "tokens/create", keys, args, fields)
        if answer[0] == "full":
            raise InvalidInput("tokens", MAX_TOKENS, f"must be at most {MAX_TOKENS:,}: revoke some")
        expires_ms = int(answer[1])
        return NewToken(token_id, caller, expires_ms - ttl_s * 1000, expires_ms, f"sym_{token_id}_{secret}")

    def entries(self) -> list[Token]:
        """Return the valid tokens, without their secrets.

        Returns:
            The tokens, the one that expires first first.

        Raises:
            RedisUnavailable: Redis does not answer.
        """
        ids = cast("list[str]", self._client.zrange(TOKEN_INDEX, 0, MAX_TOKENS - 1))
        with self._client.pipeline(transaction=False) as pipe:
            for token_id in ids:
                pipe.hgetall(token_key(token_id))
            read = pipe.execute()
        return [
            token
            for token_id, values in zip(ids, read, strict=True)
            if (token := _token_of(token_id, values)) is not None
        ]

    def revoke(self, token_id: str) -> bool:
        """Revoke a token. It is refused from the next request on.

        Args:
            token_id: Its id, as in `entries`.

        Returns:
            Whether it was valid.

        Raises:
            InvalidInput: The text is not an id.
            RedisUnavailable: Redis does not answer.
        """
        if not _ID.fullmatch(token_id):
            raise InvalidInput("id", token_id, "must be the id of a token: 16 hexadecimal digits")
        with self._client.pipeline(transaction=True) as pipe:
            pipe.delete(token_key(token_id))
            pipe.zrem(TOKEN_INDEX, token_id)
            deleted, _ = pipe.execute()
        return bool(deleted)

    def find_caller(self, text: str) -> Caller:
        """Return the caller that a token belongs to.

        Args:
            text: The text of the token.

        Returns:
            The caller.

        Raises:
            Unauthorized: The token is not valid, is revoked or has expired.
            RedisUnavailable: Redis does not answer.
        """
        if (match := _TOKEN.fullmatch(text)) is None:
            raise Unauthorized
        values = cast("dict[str, str]", self._client.hgetall(token_key(match[1])))
        token = _token_of(match[1], values)
        if token is None or not compare_digest(values.get("digest", ""), _digest(match[2])):
            raise Unauthorized
        return token.caller

    def any_valid(self) -> bool:
        """Return whether there is a token.

        Returns:
            Whether at least one token is listed.

        Raises:
            RedisUnavailable: Redis does not answer.
        """
        return bool(self._client.zcard(TOKEN_INDEX))


def is_token(text: str) -> bool:
    """Return whether a text has the form of a token."""
    return text.startswith("sym_")


def check_name(name: object, field: str = "name") -> str:
    """Return the name of a caller.

    Raises:
        InvalidInput: It breaks a rule.
    """
    if not isinstance(name, str) or len(name) > MAX_NAME or not re.fullmatch(NAME_PATTERN, name):
        rule = f"must be words of letters, digits and `.`, `_`, `@`, `:`, `|`, `/`, `+`, `=`, `-`, at most {MAX_NAME} characters"
        raise InvalidInput(field, name, rule)
    return name


def read_scopes(names: object, field: str = "scopes") -> frozenset[Scope]:
    """Return scopes by their names.

    Raises:
        InvalidInput: There is none, or a name is unknown.
    """
    given = [names] if isinstance(names, str) else list(names) if isinstance(names, Iterable) else [names]
    for name in given or [""]:
        if not isinstance(name, str) or name not in {*Scope}:
            raise InvalidInput(field, name, f"must be one or several of {', '.join(Scope)}")
    return frozenset(map(Scope, given))


def _check_tenant(tenant: object) -> str | None:
    if tenant is None:
        return None
    if not isinstance(tenant, str) or len(tenant) > 100 or not re.fullmatch(TENANT_PATTERN, tenant):
        rule = "must be letters, digits, `.`, `_`, `@`, `:` and `-`, at most 100 characters"
        raise InvalidInput("tenant", tenant, rule)
    return tenant


def _read_ttl(expires: int | str) -> int:
    try:
        ttl_s = read_span(expires)
    except ValueError as error:
        raise InvalidInput("expires", expires, str(error)) from None
    if not 1 <= ttl_s <= MAX_TTL_S:
        raise InvalidInput("expires", expires, "must be from 1s to 3650d")
    return ttl_s


def _digest(secret: str) -> str:
    return sha256(secret.encode()).hexdigest()


def _token_of(token_id: str, values: dict[str, str]) -> Token | None:
    """Return a stored token; None: it is gone, or another program wrote the key."""
    try:
        scopes = frozenset(map(Scope, values["scopes"].split(",")))
        caller = Caller(values["name"], values.get("tenant"), scopes)
        return Token(token_id, caller, int(values["created_ms"]), int(values["expires_ms"]))
    except (KeyError, ValueError):
        return None
