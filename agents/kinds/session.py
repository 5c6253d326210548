"""`[agents.NAME] kind = "session"`: a session that takes the turns of a participant, and answers calls of agents.

    [agents.panel]
    kind = "session"
    file = "panel.yaml"                  # a session file, relative to the agents file

A sub-session begins with the messages that its participant may see, or with the text of the call. Its last
message is the answer. No worker waits for it: the turn is parked until the sub-session has ended.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import Field, JsonValue
from pydantic_core import to_json

from ...models.errors import InvalidInput
from ...models.prompts.panels import describe_panel
from ...models.sessions.limits import SpendingBounds
from ...models.sessions.options import AgentBinding
from ...models.sessions.plan import Totals
from ...models.sessions.submission import Submission
from ...models.sessions.subsession_limits import MAX_DEPTH
from ...models.turns.turn import Question, TurnContext, TurnOutcome
from ...models.turns.waiting import WaitPolicy
from ..entry import UNKNOWN_SPENDING, GuardedEntry, KindEnv
from ..tables import Window


class SessionEntry(GuardedEntry):
    """The entry of a session."""

    is_deferred: ClassVar[bool] = True

    kind: Literal["session"]
    #: Path of the session file, relative to the agents file.
    file: str = Field(min_length=1)
    #: Content of the file, with the files that it names; the reader of the agents file sets it.
    document: dict[str, JsonValue] = Field(default_factory=dict, repr=False)
    #: Maximum number of messages of the parent with which a sub-session begins.
    window: Window = 20

    @cached_property
    def agents_in_use(self) -> tuple[str, ...]:
        """The names of the agents that the session needs; those of its agents are not included."""
        if not self.document:
            return ()
        return tuple(dict.fromkeys(Submission.of_subsession(self.document, "session").agents_in_use()))

    def create(self, binding: AgentBinding, _env: KindEnv) -> SessionAgent:
        """As in AgentKind."""
        document = binding.session or self.document
        if not document:
            raise InvalidInput("session", binding.session, "must be a session file, or a table of its fields")
        return SessionAgent(document)

    def describe(self) -> str:
        """As in AgentKind."""
        return self.file

    def named_agents(self) -> Iterator[tuple[str, str]]:
        """As in AgentKind."""
        return (("file", name) for name in self.agents_in_use)

    def agents_inside(self, _sessions: Collection[str]) -> Sequence[str]:
        """As in AgentKind."""
        return self.agents_in_use

    def spending(self, binding: AgentBinding, _env: KindEnv) -> SpendingBounds:
        """As in AgentKind: what the sub-session may spend by its own stop conditions."""
        try:
            stop = Submission.of_subsession(binding.session or self.document, "session").stop
        except InvalidInput:  # reported when it is opened
            return UNKNOWN_SPENDING
        if stop is None:
            return UNKNOWN_SPENDING
        left = stop.remaining(Totals())
        return SpendingBounds(tokens=left.tokens, cost_micros=left.cost_micros)

    @property
    def tool_description(self) -> str:
        """Description of the session for a model that may call it."""
        title, purpose = self.document.get("title", ""), self.document.get("purpose", "")
        return describe_panel(str(title), str(purpose), ", ".join(self._members()))

    def _members(self) -> Iterator[str]:
        """Yield the participants with their roles, as far as the file names them."""
        entries = self.document.get("participants")
        for entry in entries if isinstance(entries, list) else ():
            if isinstance(entry, str):
                yield entry
            elif isinstance(entry, dict) and (
                who := entry.get("participant_id") or entry.get("id") or entry.get("name")
            ):
                role = entry.get("role_id") or entry.get("role")
                yield f"{who} ({role})" if role else str(who)


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
