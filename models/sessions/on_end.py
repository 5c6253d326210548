"""What a session causes when it ends: a result for a waiting Celery task, a Celery signature, or a call of a URL."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import SplitResult, urlsplit

from pydantic import Field, JsonValue

from ..errors import InvalidInput
from ..turns.frozen import Frozen

#: Option of `submit`.
ON_END = "on_end"
#: Maximum characters of a signature as JSON.
MAX_SIGNATURE_CHARS = 262_144
#: Maximum characters of a URL.
MAX_URL_CHARS = 2_000
_RULE = "must be a Celery signature, such as `report.s()`, or a URL"
_URL_RULE = "must be an http or https URL with a host, without a user, a fragment and `..`"
_NOT_ALLOWED = "must begin with a URL of the setting `on_end_urls`"
_PORTS = {"http": 80, "https": 443}
_SEGMENT_ABOVE = re.compile(r"(?:^|[/\\])\.\.?(?:[/\\]|$)")


class OnEnd(Frozen):
    """What is sent when a session ends: one of its fields."""

    #: Id of the Celery task whose result is that of the session: see `client/steps`.
    task: str | None = Field(default=None, max_length=200)
    #: A Celery signature as JSON; the result is its first argument.
    signature: Mapping[str, JsonValue] | None = None
    #: URL that gets the result in a signed POST request.
    url: str | None = Field(default=None, max_length=MAX_URL_CHARS)


def read_on_end(given: Any) -> OnEnd:
    """Return the option from a URL, or from a Celery signature, which is a table.

    Raises:
        InvalidInput: It is neither, or the signature is not JSON data.
    """
    if isinstance(given, OnEnd):
        return given
    if isinstance(given, str):
        if len(given) > MAX_URL_CHARS or split_url(given) is None:
            raise InvalidInput(ON_END, _shown(given), _URL_RULE)
        return OnEnd(url=given)
    if not isinstance(given, Mapping) or not isinstance(given.get("task"), str):
        raise InvalidInput(ON_END, given, _RULE)
    try:
        text = json.dumps(dict(given))
    except (TypeError, ValueError):
        raise InvalidInput(
            ON_END, given["task"], "must have arguments and options that are JSON data"
        ) from None
    if len(text) > MAX_SIGNATURE_CHARS:
        rule = f"must be at most {MAX_SIGNATURE_CHARS} characters as JSON"
        raise InvalidInput(ON_END, given["task"], rule)
    # Celery needs all of them.
    given_parts = {name: part for name, part in json.loads(text).items() if part is not None}
    return OnEnd(signature={"args": [], "kwargs": {}, "options": {}, **given_parts})


def split_url(url: str) -> SplitResult | None:
    """Return the parts of a URL that may be called; None: it breaks a rule."""
    if not url.isascii() or not url.isprintable() or " " in url:
        return None
    try:
        parts = urlsplit(url)
        is_port = parts.port is None or parts.port > 0
    except ValueError:
        return None
    has_more = "@" in parts.netloc or "#" in url or "\\" in url
    path = re.sub("%2e", ".", re.sub("%2f|%5c", "/", parts.path, flags=re.IGNORECASE), flags=re.IGNORECASE)
    if parts.scheme not in _PORTS or not parts.hostname or not is_port or has_more:
        return None
    return None if _SEGMENT_ABOVE.search(path) else parts


def check_url(url: str, allowed: Iterable[str]) -> None:
    """Check a URL of `on_end`.

    Args:
        url: The URL.
        allowed: URLs with which it may begin: the same scheme, host and port, and the whole first segments of the
            path.

    Raises:
        InvalidInput: It begins with none of them.
    """
    parts = split_url(url)
    if parts is None or not any(_begins(parts, prefix) for prefix in map(split_url, allowed)):
        raise InvalidInput(ON_END, _shown(url), _NOT_ALLOWED)


def _begins(parts: SplitResult, prefix: SplitResult | None) -> bool:
    if prefix is None or _origin(parts) != _origin(prefix):
        return False
    return f"{parts.path}/".startswith(f"{prefix.path.rstrip('/')}/")


def _origin(parts: SplitResult) -> tuple[str, str | None, int]:
    return parts.scheme, parts.hostname, parts.port or _PORTS[parts.scheme]


def _shown(url: str) -> str:
    """Return a URL without its query, which may have a secret."""
    return url.partition("?")[0]
