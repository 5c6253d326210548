"""JSON API of a code host: requests with a token, page by page, and their failures.

A rate limit is a failure whose delivery is retried at the time that the host names. Source: the documentation of
the REST APIs of GitHub and GitLab, "Rate limits".
"""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from ....agents.execution.failures import scrub_text
from ....agents.remote.http_call import HttpAnswer, HttpTarget, http_call
from ....models.errors import AgentError, DeliveryFailed
from ..deliveries_file import CodeHostEntry

#: Maximum seconds of one delivery; less than a delivery is claimed for, so that no other worker starts it meanwhile.
MAX_DELIVERY_S = 600
#: Maximum bytes of an answer.
MAX_ANSWER_BYTES = 16_777_216
_PER_PAGE, _MAX_PAGES = 100, 100
#: Seconds to wait after a limit for which the host names no time.
_UNNAMED_LIMIT_S = 60.0
_LIMITED = (403, 429)
_USER_AGENT = "symposia"
#: Errors of the GraphQL API about what the token may not do.
FORBIDDEN = ("FORBIDDEN", "INSUFFICIENT_SCOPES")


@dataclass(frozen=True, slots=True)
class ApiAnswer:
    """Answer of the API: its status and the JSON value in it."""

    status: int
    data: Any
    #: What the host says about a failure: one line without the token.
    error: str = ""
    #: Seconds until a rate limit ends, if the headers name one: an answer of GraphQL has status 200 even then.
    limit_s: float | None = None


@contextmanager
def checked_answers(url: str) -> Iterator[None]:
    """Raise DeliveryFailed if an answer of the API at `url` lacks a part that is read in the context."""
    try:
        yield
    except (LookupError, TypeError, AttributeError) as error:
        host = urlsplit(url).hostname
        raise DeliveryFailed(
            f"{host} answered in an unknown form ({type(error).__name__}): is api_url right?", retryable=False
        ) from error


class HostApi:
    """API of a code host during one delivery. All methods raise DeliveryFailed."""

    def __init__(self, entry: CodeHostEntry, token: str) -> None:
        if not (token.isascii() and token.isprintable() and " " not in token):
            raise DeliveryFailed(
                f"environment variable {entry.token_env} must hold a token: ASCII characters without blanks",
                retryable=False,
            )
        self._entry = entry
        self._token = token
        self._host = urlsplit(entry.api_url).hostname or ""
        self._until = time.monotonic() + MAX_DELIVERY_S

    def call(
        self, method: str, path: str, data: object = None, *, accept: Collection[int] = (), base: str = ""
    ) -> ApiAnswer:
        """Send a request and return its answer.

        Args:
            method: Such as `POST`.
            path: Path below the API's URL, with its query.
            data: The body, sent as JSON; None: no body.
            accept: Status codes of failures to return instead of raising.
            base: URL to use instead of the API's; must be on the same host.

        Raises:
            DeliveryFailed: There is no answer, or the status is neither of success nor in `accept`.
        """
        target = HttpTarget(
            f"{base or self._entry.api_url.rstrip('/')}{path}",
            self._time_left(),
            self._entry.networks,
            ca_file=self._entry.ca_file,
        )
        headers = {
            "Accept": "application/json",
            "Authorization": f"Bearer {self._token}",
            "User-Agent": _USER_AGENT,
        }
        body = b"" if data is None else json.dumps(data).encode()
        if body:
            headers["Content-Type"] = "application/json"
        try:
            answer = http_call(target, method, headers, body=body, max_bytes=MAX_ANSWER_BYTES)
        except AgentError as error:
            raise DeliveryFailed(str(error), retryable=error.retryable) from None
        return self._read(answer, accept)

    def pages(self, path: str) -> Iterator[Any]:
        """Yield the elements of a list, page by page."""
        separator = "&" if "?" in path else "?"
        for page in range(1, _MAX_PAGES + 1):
            entries = self.call("GET", f"{path}{separator}per_page={_PER_PAGE}&page={page}").data
            if not isinstance(entries, list):
                raise DeliveryFailed(f"{self._host} did not answer with a list", retryable=False)
            yield from entries
            if len(entries) < _PER_PAGE:
                return

    def graphql(
        self, query: str, variables: dict[str, Any], *, accept: Collection[str] = ()
    ) -> dict[str, Any]:
        """Return the data of a query to the GraphQL API of GitHub; an empty one if it failed with a type in `accept`."""
        base = self._entry.api_url.rstrip("/").removesuffix("/v3")
        answer = self.call("POST", "/graphql", {"query": query, "variables": variables}, base=base)
        content = answer.data or {}
        errors = content.get("errors")
        if not errors:
            data: dict[str, Any] = content["data"]
            return data
        kind, message = str(errors[0].get("type", "")), str(errors[0].get("message", ""))
        if kind in accept:
            return {}
        if kind.startswith("RATE_LIMIT") or is_rate_limit(message):
            raise self.limit_failure(answer.status, answer.limit_s)
        status = {"NOT_FOUND": 404, "FORBIDDEN": 403, "INSUFFICIENT_SCOPES": 403}.get(kind, 200)
        raise self.failure(status, message, retryable=status == 200)

    def _time_left(self) -> float:
        left_s = self._until - time.monotonic()
        if left_s <= 0:
            raise DeliveryFailed(f"{self._host} takes longer than {MAX_DELIVERY_S} s, continuing later")
        return min(left_s, self._entry.timeout_s)

    def _read(self, answer: HttpAnswer, accept: Collection[int]) -> ApiAnswer:
        data = _json(answer.body)
        if answer.is_success:
            return ApiAnswer(answer.status, data, limit_s=_named_limit_s(answer))
        message = scrub_text(_message(data), secrets=[self._token])
        if (limit_s := _limit_s(answer, message)) is not None:
            raise self.limit_failure(answer.status, limit_s)
        if answer.status in accept:
            return ApiAnswer(answer.status, data, message)
        raise self.failure(answer.status, message, retryable=answer.is_transient)

    def limit_failure(self, status: int, limit_s: float | None) -> DeliveryFailed:
        """Return the error of a rate limit that ends in `limit_s` seconds; None: the host does not name its end."""
        after_s = _UNNAMED_LIMIT_S if limit_s is None else limit_s
        return DeliveryFailed(f"{self._host} answered HTTP {status}: rate limit", retry_after_s=after_s)

    def failure(self, status: int, message: str, *, retryable: bool = False) -> DeliveryFailed:
        """Return the error of an answer that is not accepted."""
        why = {
            401: f"the token in {self._entry.token_env} is not valid",
            403: f"the token in {self._entry.token_env} has no permission",
            404: f"not found, or the token in {self._entry.token_env} has no access to it",
        }.get(status, "")
        details = ": ".join(filter(None, (why, message)))
        return DeliveryFailed(
            f"{self._host} answered HTTP {status}{': ' if details else ''}{details}", retryable=retryable
        )


def _json(body: bytes) -> Any:
    """Return the JSON value of a body; None: it is none."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def _message(data: Any) -> str:
    """Return what an answer says about a failure: `message` or `error`, and the `errors` of GitHub."""
    if not isinstance(data, dict):
        return ""
    messages = [data.get("message") or data.get("error") or "", *_listed(data.get("errors"))]
    return ", ".join(
        message if isinstance(message, str) else json.dumps(message) for message in messages if message
    )


def _listed(errors: Any) -> list[Any]:
    entries = errors if isinstance(errors, list) else [errors]
    return [
        entry["message"] if isinstance(entry, dict) and entry.get("message") else entry for entry in entries
    ]


def _limit_s(answer: HttpAnswer, message: str) -> float | None:
    """Return the seconds until a rate limit ends; None: the answer is not about one."""
    if answer.status not in _LIMITED:
        return None
    if (named_s := _named_limit_s(answer)) is not None:
        return named_s
    return _UNNAMED_LIMIT_S if answer.status == 429 or is_rate_limit(message) else None


def is_rate_limit(message: str) -> bool:
    """Return whether a message of a host is about a rate limit."""
    return "rate limit" in message.casefold()


def _named_limit_s(answer: HttpAnswer) -> float | None:
    """Return the seconds until a rate limit ends by the headers of an answer; None: they name none."""
    if answer.retry_after_s is not None:
        return answer.retry_after_s
    for prefix in ("x-ratelimit", "ratelimit"):
        reset = answer.headers.get(f"{prefix}-reset", "")
        if answer.headers.get(f"{prefix}-remaining") == "0" and reset.isascii() and reset.isdecimal():
            return max(float(reset) - time.time(), 0.0)
    return None
