"""One turn: the agent's input, its output, and the result that the session keeps.

The Celery task of a turn passes `TurnContext` to an agent, gets `TurnOutcome` back, and passes `TurnResult`
to the planners. These values contain data only and cannot name code, files or hosts.

Source: Collab module, section 5.2 (turn management); Dialog module, section 2.3 (messages).
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from operator import not_
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field, JsonValue

from ..alignment.marks import Scores, TurnMarks
from ..attachments import MAX_PER_MESSAGE, Attachment
from ..memory.learned import Learned, MemoryUpdate
from ..memory.recall import MemoryView
from ..memory.recollections import MAX_NOTES, Note
from ..protocol.collab import CollabMode, Participant
from ..protocol.dialog import CutReason, Message, Role
from ..text.ids import format_timestamp, utcnow
from ..text.json_text import to_json_data
from ..text.redact import CleanText
from ..text.words import count_of, dollars
from .asked_people import people_of
from .decision_ledger import DecisionLedger
from .frozen import Frozen, ShortText
from .items import ItemResult, NewItem, WorkItem
from .position import TurnPosition
from .streaming import output_of_turn
from .tool_uses import ToolUse

#: Data of a turn beside its text.
OutputValue = Annotated[JsonValue | None, BeforeValidator(to_json_data)]


class Expects(StrEnum):
    """Purpose of a turn; an agent may answer each of them with plain text."""

    MESSAGE = "message"
    #: The orchestrator names who speaks next, or says it is satisfied.
    DECISION = "decision"
    #: The navigator of a pair approves the work, or says what to correct.
    REVIEW = "review"


class OutcomeKind(StrEnum):
    """Outcome of a turn."""

    MESSAGE = "message"
    PASSED = "passed"
    SKIPPED = "skipped"
    FAILED = "failed"


#: Maximum of each amount of a turn's usage, so that totals cannot overflow a 64-bit counter.
MAX_SPENT = 10**12


class Usage(Frozen):
    """Usage of a turn, a participant or a session."""

    input_tokens: int = Field(default=0, ge=0)
    output_tokens: int = Field(default=0, ge=0)
    #: Of the input tokens, those the provider had in its cache.
    cached_tokens: int = Field(default=0, ge=0)
    requests: int = Field(default=0, ge=0)
    #: Millionths of a US dollar: an integer, so that sums are exact.
    cost_micros: int = Field(default=0, ge=0)

    @property
    def tokens(self) -> int:
        """Input and output tokens together."""
        return self.input_tokens + self.output_tokens

    @property
    def cached_share(self) -> float:
        """Part of the input tokens that the provider had in its cache, from 0 to 1."""
        return self.cached_tokens / self.input_tokens if self.input_tokens else 0.0

    @property
    def cost_usd(self) -> float:
        """Cost in US dollars; `cost_micros` is exact."""
        return self.cost_micros / 1e6

    def __str__(self) -> str:
        cost = f", {dollars(self.cost_micros)}" if self.cost_micros else ""
        return f"{count_of(self.tokens, 'token')}{cost}"

    def __add__(self, other: Usage) -> Usage:
        if not any(vars(other).values()):  # most turns of agents without a model
            return self
        return Usage(
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cached_tokens=self.cached_tokens + other.cached_tokens,
            requests=self.requests + other.requests,
            cost_micros=self.cost_micros + other.cost_micros,
        )

    def beyond(self, other: Usage) -> Usage:
        """Return for each field the amount by which this usage exceeds the other.

        Args:
            other: The usage to subtract.
        """
        if not any(vars(other).values()):
            return self
        rest = {name: max(amount - getattr(other, name), 0) for name, amount in self}
        return Usage(**rest)

    def to_json_data(self) -> dict[str, JsonValue]:
        """Return the amounts with the sum `tokens` as JSON data."""
        return {**self.model_dump(mode="json"), "tokens": self.tokens}


#: The usage of nothing.
NO_USAGE = Usage()


def _check_turn_usage(usage: Usage) -> Usage:
    if max(vars(usage).values()) > MAX_SPENT:
        raise ValueError(f"must have no amount above {MAX_SPENT}")
    return usage


#: Usage of one turn.
TurnUsage = Annotated[Usage, AfterValidator(_check_turn_usage)]


#: Maximum characters of the answer of an orchestrator.
MAX_ANSWER = 200_000


class Decision(Frozen):
    """Decision of an orchestrator, or verdict of a navigator (only `satisfied` and `reason` count there)."""

    satisfied: bool = False
    #: False: nothing moved since the last decision; a stall is counted.
    progress: bool = True
    #: Participant ids that speak next, in order.
    next: tuple[ShortText, ...] = Field(default=(), max_length=1_000)
    side_by_side: bool = False
    #: Said to every next speaker who has no entry in `instructions`.
    instruction: str = Field(default="", max_length=8_000)
    instructions: dict[ShortText, Annotated[str, Field(max_length=8_000)]] = Field(
        default_factory=dict, max_length=1_000
    )
    reason: str = Field(default="", max_length=2_000)
    #: Answer to the task, if `satisfied`: the message of the turn. Left out if it is empty, so that workers of earlier
    #: versions read the decision.
    answer: CleanText = Field(default="", max_length=MAX_ANSWER, exclude_if=not_)
    #: Why its text has no single meaning; empty: it has one.
    fault: str = Field(default="", max_length=2_000, exclude_if=not_)
    #: In alignment sessions the judge's scores, by participant id.
    scores: dict[ShortText, Scores] = Field(default_factory=dict, max_length=1_000)

    def instruction_for(self, participant_id: str) -> str:
        """Return the instruction that reaches one of the next speakers.

        Args:
            participant_id: The speaker.
        """
        return self.instructions.get(participant_id, self.instruction)


class DraftMessage(Frozen):
    """A message an agent wants written; the commit adds speaker, turn, token and time."""

    content: CleanText = Field(min_length=1)
    role: Role = Role.AGENT
    #: Files of the message: new ones (`Attachment.of`), or files of messages that the turn sees.
    attachments: tuple[Attachment, ...] = Field(default=(), max_length=MAX_PER_MESSAGE)


class Question(Frozen):
    """A question that a person must answer before a turn can end."""

    #: Participant id of the person.
    to: ShortText
    text: str = Field(default="", max_length=32_768)
    #: The answers that are taken; none: any text.
    choices: tuple[ShortText, ...] = Field(default=(), max_length=100)
    #: Registered session that answers, as a sub-session, instead of a person.
    session: ShortText | None = None
    #: Name of the tool that needs an approval.
    tool: ShortText | None = None
    #: Name of the tool call that asks; empty: the agent itself asks.
    call: str = Field(default="", max_length=1_000)
    #: The batch of a provider that answers a model request, instead of a person: its handle, as JSON. Left out if it is empty.
    batch: str = Field(default="", max_length=8_000, exclude_if=not_)

    @property
    def is_for_approval(self) -> bool:
        """Return whether a tool call waits for the answer."""
        return self.tool is not None


class PanelAnswer(Frozen):
    """The newest message of one participant of a sub-session."""

    by: str
    text: str


class GivenAnswer(Frozen):
    """A question, and what was answered."""

    question: Question
    #: None: no answer in time.
    text: str | None = None
    #: Participant who answered: the person who was asked, or their substitute.
    by: str | None = None
    #: Sub-session that answered.
    session_id: str | None = None
    #: Data of its last message.
    output: JsonValue = None
    #: Why a sub-session gave no answer.
    error: str | None = None
    #: Newest messages of all participants of a sub-session whose last message is not the answer of all of them. Left
    #: out if there are none, so that workers of earlier versions read it.
    answers: tuple[PanelAnswer, ...] = Field(default=(), exclude_if=not_)
    #: Reason why a sub-session ended. Left out if it is empty.
    ended: str = Field(default="", exclude_if=not_)


class RemainingBudget(Frozen):
    """Remainder of the session's limits when a turn begins; None: no limit."""

    turns: int | None = None
    #: Rounds that have not ended, the current one included.
    rounds: int | None = None
    tokens: int | None = None
    cost_micros: int | None = None
    seconds: float | None = None


class Correction(Frozen):
    """An answer of this turn that was not taken, and why."""

    fault: str
    #: Text of the answer, cut.
    answer: str = ""


#: Name of the session parameter with the batch and item that the session reviews.
REVIEW_PARAMETER = "review"
#: Field of it with the outputs of programs that have reviewed many files at once, by agent; and these agents.
OUTPUTS_FIELD, BATCHED_PROGRAMS = "outputs", ("ruff", "bandit")


class TurnContext(Frozen):
    """Input of an agent for one turn."""

    session_id: str
    #: Time at which the session was opened, in milliseconds since the epoch: an id may be used again after a session has
    #: expired. It is not part of the JSON.
    opened_ms: int = Field(default=0, exclude=True)
    mode: CollabMode
    #: Every participant has one turn in every round.
    one_turn_each: bool = False
    title: str
    purpose: str
    #: Speaker of this turn.
    me: Participant
    roster: tuple[Participant, ...]
    #: Names of people without turns who may be asked; approvers also decide approvals.
    approvers: tuple[str, ...] = ()
    observers: tuple[str, ...] = ()
    turn_number: int
    #: 1 for the first try of this turn.
    attempt: int = 1
    expects: Expects = Expects.MESSAGE
    instruction: str = ""
    #: In alignment sessions: who decides also scores the experts.
    scoring: bool = False
    #: JSON schema of the output that this turn must have; None: the turn needs no output.
    output_schema: dict[str, JsonValue] | None = None
    #: The window of the dialog this participant may see, oldest first.
    messages: tuple[Message, ...] = ()
    #: Messages of users and notes before the first turn, also if `messages` no longer contains them.
    opening: tuple[Message, ...] = ()
    #: Position of the turn in its session.
    position: TurnPosition = TurnPosition()
    #: What participants are for, by participant id; those without a description are left out.
    descriptions: dict[str, str] = Field(default_factory=dict)
    #: What an orchestrator needs for its decision, also written in its instruction; None: another turn.
    ledger: DecisionLedger | None = None
    #: The work item of a swarm's turn.
    item: WorkItem | None = None
    #: Results that this turn builds on: of the items that the work item waited for, or, in the turn of a
    #: reducer, of all items.
    item_results: tuple[ItemResult, ...] = ()
    #: Questions of this turn to people with their answers, oldest first.
    answers: tuple[GivenAnswer, ...] = ()
    #: Answers that were not taken, oldest first; `instruction` also says so, for agents that read only that.
    corrections: tuple[Correction, ...] = Field(default=(), exclude_if=not_)
    #: Data of the session and of this participant's binding (never code, files or hosts).
    parameters: dict[str, JsonValue] = Field(default_factory=dict)
    #: Memory of the user; None in a session without memory.
    memory: MemoryView | None = None
    #: Texts of earlier sessions that fit this turn; None in a session without long-term memory.
    recalled: tuple[str, ...] | None = None
    remaining: RemainingBudget = RemainingBudget()
    #: Seconds until the turn's deadline.
    timeout_s: float = 300.0

    def write(self, text: str) -> None:
        """Add text to the message of this turn; who follows the session sees it at once.

        If the agent then returns None, the written text is the message.

        Raises:
            AgentFailed: The turn has ended.
            BadOutcome: It is not text, or the message becomes too large.
        """
        output_of_turn().write(text)

    def asked_again(self, correction: Correction, *lines: str) -> TurnContext:
        """Return the context in which the agent is asked again.

        Args:
            correction: The answer that was not taken, for a model.
            lines: What to add to the instruction, for an agent of another kind.
        """
        instruction = "\n\n".join(filter(None, (self.instruction, *lines)))
        corrections = (*self.corrections, correction)
        return self.model_copy(update={"instruction": instruction, "corrections": corrections})

    @property
    def people(self) -> tuple[Participant, ...]:
        """The people who may be asked: participants of kind human, then approvers and observers."""
        return people_of(self.roster, (*self.approvers, *self.observers))

    @property
    def attachments(self) -> tuple[Attachment, ...]:
        """Files of the messages, oldest first, each once; `Attachment.load` returns the bytes."""
        messages = (*self.opening, *self.messages)
        attachments = (attachment for message in messages for attachment in message.attachments)
        return tuple(dict.fromkeys(attachments))

    @property
    def effect_id(self) -> str:
        """Id that is the same in every attempt of this turn, so that an external effect is done once."""
        return f"{self.session_id}:{self.turn_number}"


class TurnOutcome(Frozen):
    """Answer of an agent."""

    messages: tuple[DraftMessage, ...] = Field(default=(), max_length=100)
    #: Nothing to say this time.
    passed: bool = False
    decision: Decision | None = None
    #: Role id or participant id that should continue: with this turn's work item, or, outside a swarm, by speaking next.
    hand_off: ShortText | None = None
    items: tuple[NewItem, ...] = Field(default=(), max_length=100)
    #: Parameters from the user's words, stored after the turn is written.
    learned: Learned | None = None
    #: Texts for the long-term memory, stored after the turn is written. Left out if there are none, so that workers of
    #: earlier versions read it.
    notes: tuple[Note, ...] = Field(default=(), max_length=MAX_NOTES, exclude_if=not_)
    #: A person is asked; with the answer, the agent is given the same turn again.
    question: Question | None = None
    #: Data of the turn beside its text: JSON data, or a value that pydantic can write as JSON, such as a model.
    #: None: no data. Without a message, the text of the turn is this data as JSON.
    output: OutputValue = None
    usage: TurnUsage = Usage()
    #: Why the text of the last message is incomplete. Left out if it is not, so that workers of earlier versions read it.
    cut: CutReason | None = Field(default=None, exclude_if=lambda value: value is None)
    #: Tool calls of the turn with their results, stored with the last message. Left out like `cut`.
    tool_uses: tuple[ToolUse, ...] = Field(default=(), exclude_if=not_)
    #: Number of shown messages that the agent left out because of the size limit.
    left_out: int = Field(default=0, ge=0)
    #: Whether the agent was told what was wrong with its answer, and has answered again within the turn.
    asked_again: bool = Field(default=False, exclude_if=not_)
    #: Number of lines that were cut because the agent wrote them in the name of others.
    cut_voices: int = Field(default=0, ge=0, exclude_if=not_)

    @classmethod
    def say(
        cls, content: str, *, usage: Usage | None = None, attachments: Sequence[Attachment] = ()
    ) -> TurnOutcome:
        """Return one message in the agent's own role."""
        draft = DraftMessage(content=content, attachments=tuple(attachments))
        return cls(messages=(draft,), usage=usage or Usage())

    @classmethod
    def ask(cls, to: str, text: str, *, choices: tuple[str, ...] = ()) -> TurnOutcome:
        """Return a question to one of `TurnContext.people`; `TurnContext.answers` holds the answer next time."""
        return cls(question=Question(to=to, text=text, choices=choices))

    @classmethod
    def call_session(cls, name: str, text: str) -> TurnOutcome:
        """Return a call of a registered session; `TurnContext.answers` holds its last message next time."""
        return cls(question=Question(to=name, text=text, session=name))

    @classmethod
    def skip_turn(cls) -> TurnOutcome:
        """Return an outcome that says nothing: the turn counts as passed."""
        return cls(passed=True)


class TurnResult(Frozen):
    """A closed turn as planners and stop conditions see it; small, however long its text is."""

    number: int
    participant: str
    kind: OutcomeKind
    decision: Decision | None = None
    hand_off: str | None = None
    items: tuple[NewItem, ...] = ()
    #: The work item the turn was about.
    item: WorkItem | None = None
    usage: Usage = Usage()
    #: Whether its data is valid as the output of the session.
    has_output: bool = False
    #: Number of shown messages that the agent left out because of the size limit.
    left_out: int = 0
    #: Whether the agent was told what was wrong with its answer, and has answered again within the turn.
    asked_again: bool = Field(default=False, exclude_if=not_)
    #: Number of lines that were cut because the agent wrote them in the name of others.
    cut_voices: int = Field(default=0, exclude_if=not_)
    #: Indices of the `TextSeen` conditions this turn's text satisfied.
    marks: tuple[int, ...] = ()
    #: Marks of the turn in an alignment session.
    signs: TurnMarks | None = None
    #: Parameters from the user's words, to be stored before the next step is planned.
    remember: MemoryUpdate | None = None
    #: Texts for the long-term memory, to be stored before the next step is planned.
    notes: tuple[Note, ...] = Field(default=(), exclude_if=not_)
    #: Why it failed or was skipped; one line, never a secret.
    error: str | None = Field(default=None, max_length=500)
    #: It repeats recent messages, or is only a courtesy. Left out if not, so that workers of earlier versions read it.
    repeats: bool = Field(default=False, exclude_if=not_)

    @property
    def is_silent(self) -> bool:
        """Nothing was said, decided or added: a pass, a turn that was skipped, or a hand-off of no work item."""
        has_message = self.kind is OutcomeKind.MESSAGE
        return not (has_message or self.decision or (self.item and self.hand_off) or self.items)


class TurnState(Frozen):
    """The current turn (Collab module, section 5.2)."""

    #: None: several participants answer side by side, so none of them is the only holder.
    current_turn_holder: str | None
    turn_order: tuple[str, ...]
    turn_index: int
    turn_started_at: str

    def advanced(self) -> TurnState:
        """Return the state after `advanceTurn` of the source: the next of `turn_order`, starting now."""
        index = (self.turn_index + 1) % len(self.turn_order)
        return TurnState(
            current_turn_holder=self.turn_order[index],
            turn_order=self.turn_order,
            turn_index=index,
            turn_started_at=format_timestamp(utcnow()),
        )
