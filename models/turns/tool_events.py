"""Events of the tool calls of running turns, for user interfaces. They are for live display only.

Arguments are shortened, and without secrets.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum

from ..text.json_text import dump_json
from ..text.redact import excerpt, names_secret, scrub_secrets
from .frozen import Frozen

#: Maximum characters of the arguments in an event.
MAX_ARGUMENTS = 300
_HIDDEN = "***"


class ToolStatus(StrEnum):
    """Status of a tool call."""

    RUNNING = "running"
    OK = "ok"
    #: The tool asks the model for a corrected call.
    RETRY = "retry"
    #: The call waits for a person.
    WAITING = "waiting"
    ERROR = "error"


class ToolEvent(Frozen):
    """The begin (`running`) or the end of a tool call in a running turn."""

    turn_number: int
    participant_id: str
    #: Grant of the turn, from 1.
    attempt: int
    #: Execution token of that grant.
    token_id: str
    #: The same in both events of a call.
    call_id: str
    #: Name of the tool.
    name: str
    #: JSON, shortened and without secrets.
    arguments: str
    status: ToolStatus
    #: Milliseconds that the call took; None while it is running.
    duration_ms: int | None = None


def shorten_arguments(arguments: object, secrets: Iterable[str]) -> str:
    """Return the arguments of a call as short JSON text without secrets."""
    return excerpt(dump_json(_hide(arguments, tuple(secrets))), MAX_ARGUMENTS)


def _hide(value: object, secrets: tuple[str, ...]) -> object:
    if isinstance(value, Mapping):
        return {key: _HIDDEN if names_secret(str(key)) else _hide(it, secrets) for key, it in value.items()}
    if isinstance(value, list | tuple):
        return [_hide(it, secrets) for it in value]
    return scrub_secrets(value, secrets) if isinstance(value, str) else value
