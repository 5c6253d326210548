"""`[agents.NAME] kind = "human"`: a person, who answers later. No worker waits for the answer.

The agent of a person writes no message. It asks the person of its participant, and the turn is parked until an answer
arrives: by `symposia reply`, `job.reply`, or a signed callback.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Literal

from ...models.sessions.limits import SpendingBounds
from ...models.sessions.options import AgentBinding
from ...models.text.json_text import dump_json
from ...models.turns.turn import TurnContext, TurnOutcome
from ...models.turns.waiting import TimeoutAction, WaitPolicy
from ..entry import NO_SPENDING, GuardedEntry, KindEnv
from ..tables import Window


class WaitingEntry(GuardedEntry, WaitPolicy):
    """Base of the entries of agents outside of Symposia, who answer later. A binding's `wait` takes precedence."""

    answers_later: ClassVar[bool] = True
    is_deferred: ClassVar[bool] = True

    def named_agents(self) -> Iterator[tuple[str, str]]:
        """As in AgentKind."""
        if self.then is TimeoutAction.REASSIGN:
            yield "to", str(self.to)

    def stand_in(self, binding: AgentBinding) -> AgentBinding | None:
        """As in AgentKind; it is resolved only after the deadline."""
        wait = binding.wait or self
        return binding.with_agent(wait.to) if wait.then is TimeoutAction.REASSIGN else None

    def spending(self, _binding: AgentBinding, _env: KindEnv) -> SpendingBounds:
        """As in AgentKind."""
        return NO_SPENDING


class HumanEntry(WaitingEntry):
    """The entry of a person."""

    is_person: ClassVar[bool] = True

    kind: Literal["human"]
    #: Maximum number of messages shown to a substitute.
    window: Window = 100

    def create(self, binding: AgentBinding, _env: KindEnv) -> HumanAgent:
        """As in AgentKind."""
        return HumanAgent(binding.wait or self)

    def describe(self) -> str:
        """As in AgentKind."""
        return "no deadline" if self.deadline_s is None else f"{self.deadline_s:g} s, then {self.then}"


#: Maximum characters of an instruction in a question.
MAX_QUESTION_CHARS = 10_000


_OUTPUT_FORM = "Answer with JSON that is valid under this JSON schema:\n"


class HumanAgent:
    """The agent of a person."""

    def __init__(self, wait: WaitPolicy) -> None:
        self.wait = wait

    def speak_now(self, turn: TurnContext) -> TurnOutcome:
        """Ask the person for the output of this turn."""
        return ask_own_participant(turn)


def ask_own_participant(turn: TurnContext) -> TurnOutcome:
    """Return the question to the person whose turn it is."""
    asked = turn.instruction.strip() or (turn.item.text if turn.item else "")
    parts = [asked[:MAX_QUESTION_CHARS]]
    if turn.output_schema is not None:
        parts.append(_OUTPUT_FORM + dump_json(turn.output_schema)[:MAX_QUESTION_CHARS])
    return TurnOutcome.ask(turn.me.participant_id, "\n\n".join(filter(None, parts)))
