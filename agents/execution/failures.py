"""Conversion of an agent's exceptions to errors that may be shown: one line, short, without secrets."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ...models.errors import AgentError, AgentFailed
from ...models.text.redact import HIDDEN, without_password
from .origins import find_origin

#: Characters of a failure's text that are kept.
MAX_ERROR_CHARS = 300

_CREDENTIAL = re.compile(
    r"(?P<scheme>\b(?:bearer|basic)\s+)[\w.~+/=-]+"
    r"|\b(?:sk|pk|rk|gsk|xai|ghp|hf)[-_][\w-]{8,}"
    r"|(?P<name>\b(?:api[-_ ]?key|token|password|secret)\b[\"']?\s*[=:]\s*)[\"']?[^\s\"',;]+",
    re.IGNORECASE,
)


def scrub_text(text: str, *, secrets: Iterable[str] = ()) -> str:
    """`text` on one line, cut, without the given secrets, URL passwords and what looks like a credential."""
    line = " ".join(_without_secrets(text, secrets).split()).encode("utf-8", "replace").decode()
    return line if len(line) <= MAX_ERROR_CHARS else f"{line[: MAX_ERROR_CHARS - 3]}..."


def _without_secrets(text: str, secrets: Iterable[str]) -> str:
    for secret in secrets:
        if secret:
            text = text.replace(secret, HIDDEN)
    return _CREDENTIAL.sub(
        lambda hit: f"{hit['scheme'] or hit['name'] or ''}{HIDDEN}", without_password(text)
    )


def _read_message(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # noqa: BLE001 - `__str__` is code of the agent
        return "its message cannot be read"


def to_agent_error(
    error: BaseException,
    *,
    retryable: bool = True,
    secrets: Iterable[str] = (),
    cause: BaseException | None = None,
) -> AgentError:
    """Convert `error` to an error of the agent tree; one that already belongs to it is returned without secrets.

    Its text begins with the class of the original. SystemExit and KeyboardInterrupt are
    failures too: an agent cannot end the worker. Its origin is that of `cause`, by default `error`.
    """
    hidden = tuple(secrets)
    origin = find_origin(cause or error, redact=lambda text: _without_secrets(text, hidden))
    if isinstance(error, AgentError):
        error.args = (_without_secrets(_read_message(error), hidden),)
        error.origin = error.origin or origin
        return error
    text = scrub_text(_read_message(error), secrets=hidden)
    failed = AgentFailed(f"{type(error).__name__}{': ' if text else ''}{text}", retryable=retryable)
    failed.origin = origin
    return failed
