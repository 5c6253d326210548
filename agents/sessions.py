"""`[agents.NAME] kind = "session"`: a session that takes the turns of a participant, and answers calls of agents.

    [agents.panel]
    kind = "session"
    file = "panel.yaml"                  # a session file, relative to the agents file

A sub-session begins with the messages that its participant may see, or with the text of the call. Its last
message is the answer. No worker waits for it: the turn is parked until the sub-session has ended.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, JsonValue
from pydantic_core import to_json

from ..models.errors import InvalidInput
from ..models.sessions.limits import SpendingBounds
from ..models.sessions.plan import Totals
from ..models.sessions.submission import Submission
from ..models.sessions.subsession_limits import MAX_DEPTH
from ..models.turns.turn import Question, TurnContext, TurnOutcome
from ..models.turns.waiting import WaitPolicy
from .entry_base import Window
from .guards.entries import GuardedEntry


class SessionEntry(GuardedEntry):
    """The entry of a session."""

    kind: Literal["session"]
    #: Path of the session file, relative to the agents file.
    file: str = Field(min_length=1)
    #: Content of the file, with the files that it names; the reader of the agents file sets it.
    document: dict[str, JsonValue] = Field(default_factory=dict, repr=False)
    #: Maximum number of messages of the parent with which a sub-session begins.
    window: Window = 20

    @property
    def what(self) -> str:
        """Return its description for lists."""
        return self.file

    @cached_property
    def agents_in_use(self) -> tuple[str, ...]:
        """The names of the agents that the session needs; those of its agents are not included."""
        if not self.document:
            return ()
        return tuple(dict.fromkeys(Submission.of_subsession(self.document, "session").agents_in_use()))


@dataclass(frozen=True, slots=True)
class SessionFiles:
    """How the session files of an agents file are read."""

    #: Returns the content of a session file, with the files that it names in their places.
    read: Callable[[Path], dict[str, Any]]
    #: Maximum number of sessions above a session.
    max_depth: int = MAX_DEPTH


@dataclass(frozen=True, slots=True)
class SessionAgent:
    """The agent of a session."""

    document: Mapping[str, JsonValue]
    #: A sub-session ends by itself, at the latest with its parent.
    wait: WaitPolicy = WaitPolicy(deadline_s=None)  # noqa: RUF009 - frozen

    def speak_now(self, turn: TurnContext) -> TurnOutcome:
        """Ask the sub-session for the output of this turn."""
        return TurnOutcome(question=Question(to=turn.me.participant_id))

    def opening_of_turn(self, turn: TurnContext) -> str:
        """Return what is opened for a turn of its own participant, as a JSON document."""
        messages = [
            message.as_history().model_dump(mode="json", exclude_none=True) for message in turn.messages
        ]
        asked = turn.instruction.strip() or (turn.item.text if turn.item else "")
        if not asked and not messages:
            asked = turn.purpose
        # The speaker of an output is a session that must have it, unless it has an output of its own.
        output = {"output": turn.output_schema} if turn.output_schema is not None else {}
        return self._opening(turn, [*messages, asked] if asked else messages, output)

    def opening_of_call(self, turn: TurnContext, text: str) -> str:
        """Return what is opened for a call of another agent, as a JSON document."""
        return self._opening(turn, [text], {})

    def _opening(self, turn: TurnContext, messages: list[Any], defaults: Mapping[str, JsonValue]) -> str:
        own = self.document.get("messages") or []
        parameters = self.document.get("parameters") or {}
        whole = {**defaults, **self.document, "messages": [*own, *messages]}  # type: ignore[misc]
        if turn.parameters:
            whole["parameters"] = {**parameters, **turn.parameters}  # type: ignore[dict-item]
        return to_json(whole).decode()


def session_spending(document: Mapping[str, JsonValue]) -> SpendingBounds:
    """Return the most that a sub-session may spend by its own stop conditions."""
    try:
        stop = Submission.of_subsession(document, "session").stop
    except InvalidInput:  # reported when it is opened
        return SpendingBounds()
    if stop is None:
        return SpendingBounds()
    left = stop.remaining(Totals())
    return SpendingBounds(tokens=left.tokens, cost_micros=left.cost_micros)


def describe_session(document: Mapping[str, JsonValue]) -> str:
    """Return the description of a session for a model that may call it."""
    return f"{document.get('title', '')}: {document.get('purpose', '')}"
