"""Scripted agents: their replies are written in advance. For tests, examples and benchmarks.

The reply depends on the turn alone, so a turn that runs twice gives the same reply both times:

1. a reply with `turn = N` is used at turn number N of the session;
2. the others are used in order, the first at the participant's first turn. In modes with a fixed order
   (round robin, pair, broadcast), the count of the participant's turns follows from the turn
   number and the size of the roster, passes included (a hand-off to a participant of the
   next round shifts it). In the other modes (orchestrated, swarm), it is the number of turns
   whose messages it sees as its own;
3. a reply that asks a person (`ASK ben: ...`) asks once: with the answer, the turn passes;
4. after the last reply, `at_end` decides: the last reply again, all from the first again, or a pass.

In a reply, `{purpose}`, `{me}`, `{turn}`, `{last}` (the newest message in the window),
`{item}`, `{instruction}`, `{memory}` (the known facts about the user), `{ask}` (the questions
to ask the user) and `{recalled}` (texts of the long-term memory) are filled in. Other text in braces does not change.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable
from enum import StrEnum
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from ...models.directives import read_question
from ...models.errors import AgentFailed, InvalidInput, invalid_input
from ...models.memory.learned import Learned
from ...models.memory.recall import MemoryView
from ...models.sessions.limits import SpendingBounds
from ...models.sessions.options import AgentBinding
from ...models.text.durations import Duration
from ...models.text.words import count_of
from ...models.turns.items import NewItem
from ...models.turns.turn import Decision, DraftMessage, OutputValue, TurnContext, TurnOutcome, Usage
from ..agent import AnyAgent
from ..entry import UNKNOWN_SPENDING, GuardedEntry, KindEnv
from ..tables import Window

#: Number of messages in which a script with several replies counts its own turns.
SCRIPT_WINDOW = 200


_PLACEHOLDER = re.compile(r"\{(purpose|me|turn|last|item|instruction|memory|ask|recalled)\}")


class AtEnd(StrEnum):
    """Behaviour of a script after its last reply."""

    REPEAT = "repeat"
    CYCLE = "cycle"
    PASS = "pass"  # noqa: S105 - a pass of the floor


class ScriptedReply(BaseModel):
    """One reply of a script; in the file a plain string is short for `{ say = ... }`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    say: str = ""
    passed: bool = Field(default=False, alias="pass")
    decision: Decision | None = None
    hand_off: str | None = None
    items: tuple[NewItem, ...] = ()
    #: Data beside the text; without `say` also the text.
    output: OutputValue = None
    #: Parameters taken from the user's message.
    learned: Learned | None = None
    usage: Usage = Usage()
    #: Error text; the turn fails with it instead of an answer ...
    fail: str | None = Field(default=None, min_length=1)
    #: ... in the first n attempts; None: in every attempt.
    fail_attempts: int | None = Field(default=None, ge=1)
    #: Whether that failure may be retried.
    retryable: bool = True
    #: Seconds to wait before the reply.
    delay_s: Duration = Field(default=0.0, ge=0, le=3_600)
    #: Turn number of the session for which this reply is used.
    turn: int | None = Field(default=None, ge=1)

    @model_validator(mode="before")
    @classmethod
    def _from_text(cls, value: object) -> object:
        return {"say": value} if isinstance(value, str) else value

    @model_validator(mode="after")
    def _does_something(self) -> ScriptedReply:
        has_content = self.say.strip() or self.output is not None
        spoken = has_content or self.passed or self.decision or self.hand_off or self.items
        if not spoken and (self.fail is None or self.fail_attempts is not None):
            raise ValueError(
                "must set at least one of `say`, `output`, `passed`, `decision`, `hand_off`, `items` and `fail`"
            )
        return self

    def to_outcome(self, turn: TurnContext) -> TurnOutcome:
        """Return the reply as the outcome of this turn.

        Raises:
            AgentFailed: The script says so.
        """
        if self.fail is not None and (self.fail_attempts is None or turn.attempt <= self.fail_attempts):
            raise AgentFailed(_filled(self.fail, turn), retryable=self.retryable)
        outcome = TurnOutcome(
            messages=(DraftMessage(content=_filled(self.say, turn)),) if self.say else (),
            passed=self.passed,
            decision=self.decision,
            hand_off=self.hand_off,
            items=self.items,
            output=self.output,
            learned=self.learned,
            usage=self.usage,
        )
        if turn.answers and read_question(turn, outcome) is not None:
            # The turn begins again with the answer, and the same reply would ask again.
            return TurnOutcome(passed=True, usage=self.usage)
        return outcome


class ScriptedEntry(GuardedEntry):
    """The entry of a script. A binding's parameters `replies` and `at_end` take precedence."""

    kind: Literal["scripted"]
    replies: tuple[ScriptedReply, ...] = Field(default=(), max_length=10_000)
    at_end: AtEnd = AtEnd.REPEAT
    #: Maximum number of messages in its context. None: as many as the replies need.
    window: Window | None = None

    def create(self, binding: AgentBinding, _env: KindEnv) -> AnyAgent:
        """As in AgentKind."""
        script = self.merged(binding)
        return scripted_agent(script.replies, at_end=script.at_end)

    def describe(self) -> str:
        """As in AgentKind."""
        return count_of(len(self.replies), "reply", "replies")

    def spending(self, binding: AgentBinding, _env: KindEnv) -> SpendingBounds:
        """As in AgentKind."""
        try:
            spent = [reply.usage for reply in self.merged(binding).replies]
        except InvalidInput:  # reported when the agent is created
            return UNKNOWN_SPENDING
        return SpendingBounds(
            tokens=max((usage.tokens for usage in spent), default=0),
            cost_micros=max((usage.cost_micros for usage in spent), default=0),
        )

    def window_for(self, binding: AgentBinding) -> int:
        """As in AgentKind."""
        return messages_needed(self.merged(binding).replies) if self.window is None else self.window

    def merged(self, binding: AgentBinding) -> ScriptedEntry:
        """Return the script with a binding's parameters.

        Raises:
            InvalidInput: These parameters are not a valid script.
        """
        own = {name: binding.parameters[name] for name in ("replies", "at_end") if name in binding.parameters}
        if not own:
            return self
        try:
            return ScriptedEntry.model_validate({**self.model_dump(by_alias=True), **own})
        except ValidationError as error:
            raise invalid_input(error, "parameters") from None


class ScriptedAgent:
    """The agent of a script without delays."""

    def __init__(self, replies: Iterable[ScriptedReply], *, at_end: AtEnd = AtEnd.REPEAT) -> None:
        replies = tuple(replies)
        self._by_turn = {reply.turn: reply for reply in replies if reply.turn is not None}
        self._in_order = tuple(reply for reply in replies if reply.turn is None)
        self._at_end = at_end

    def speak_now(self, turn: TurnContext) -> TurnOutcome:
        """Return the script's reply for this turn."""
        reply = self.find_reply(turn)
        return TurnOutcome.skip_turn() if reply is None else reply.to_outcome(turn)

    def find_reply(self, turn: TurnContext) -> ScriptedReply | None:
        """Return the script's reply for this turn; None: a pass."""
        reply = self._by_turn.get(turn.turn_number)
        count = len(self._in_order)
        if reply is not None or not count:
            return reply
        if count == 1 and self._at_end is not AtEnd.PASS:
            return self._in_order[0]
        index = turns_before(turn)
        if index >= count and self._at_end is AtEnd.PASS:
            return None
        return self._in_order[index % count if self._at_end is AtEnd.CYCLE else min(index, count - 1)]


class SlowScriptedAgent:
    """The agent of a script with delays."""

    def __init__(self, script: ScriptedAgent) -> None:
        #: The script without its delays.
        self.script = script

    async def speak(self, turn: TurnContext) -> TurnOutcome:
        """Wait for the delay of the reply, then return it."""
        reply = self.script.find_reply(turn)
        if reply is not None:
            await asyncio.sleep(reply.delay_s)
        return self.script.speak_now(turn)


def scripted_agent(replies: Iterable[ScriptedReply], *, at_end: AtEnd = AtEnd.REPEAT) -> AnyAgent:
    """Return the agent for a script: instant unless a reply has a delay."""
    replies = tuple(replies)
    script = ScriptedAgent(replies, at_end=at_end)
    return SlowScriptedAgent(script) if any(reply.delay_s for reply in replies) else script


def messages_needed(replies: Iterable[ScriptedReply]) -> int:
    """Return the number of dialog messages that a script has to see."""
    replies = tuple(replies)
    if sum(reply.turn is None for reply in replies) > 1:
        return SCRIPT_WINDOW
    return int(any("{last}" in f"{reply.say}{reply.fail}" for reply in replies))


def turns_before(turn: TurnContext) -> int:
    """Return the number of earlier turns of this participant, as far as the context shows it."""
    if turn.one_turn_each:
        return (turn.turn_number - 1) // len(turn.roster)
    me = turn.me.participant_id
    return len({message.turn_number for message in turn.messages if message.speaker == me})


def _filled(text: str, turn: TurnContext) -> str:
    # In one pass: braces in inserted values are not replaced.
    return _PLACEHOLDER.sub(lambda hit: _value(hit[1], turn), text) if "{" in text else text


def _value(name: str, turn: TurnContext) -> str:
    match name:
        case "purpose":
            return turn.purpose
        case "me":
            return turn.me.display_name or turn.me.participant_id
        case "turn":
            return str(turn.turn_number)
        case "last":
            return turn.messages[-1].content if turn.messages else turn.purpose
        case "item":
            return turn.item.text if turn.item else ""
        case "memory" | "ask" | "recalled":
            return _remembered(name, turn)
        case _:
            return turn.instruction


def _remembered(name: str, turn: TurnContext) -> str:
    memory = turn.memory or MemoryView()
    if name == "recalled":
        return "; ".join(turn.recalled or ())
    if name == "ask":
        return ", ".join(memory.ask)
    return ", ".join(f"{parameter}: {value}" for parameter, value in memory.parameters.items())
