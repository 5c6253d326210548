"""`[guards.NAME]` tables of an agents file: checks before and after the turns of agents that name them.

Guards that are Python callables run as agents do: with a deadline, sync ones in a thread.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Annotated, Any, Literal, Self, cast

from pydantic import AfterValidator, Field, model_validator

from ..models.errors import BadOutcome, InvalidInput, RegistryError
from ..models.guards import (
    CheckedText,
    find_denied_word,
    find_length_fault,
    find_pattern_fault,
    find_schema_fault,
    words_pattern,
)
from ..models.outputs import read_schema
from ..models.text.nearest import nearest_names
from ..models.text.patterns import compile_pattern
from ..models.text.redact import excerpt
from ..models.turns.turn import TurnContext, TurnOutcome
from ..models.turns.waiting import GuardAction, GuardTime
from .execution.loading import load_callable
from .execution.threads import DaemonThreadPool
from .kinds.python import PythonAgent
from .tables import CallablePath, EntryBase

_MAX_CHARS = 10_000_000


def _pattern(pattern: str) -> str:
    compile_pattern(pattern)
    return pattern


def _word(word: str) -> str:
    if not word.strip() or word != word.strip():
        raise ValueError("must be a word without blanks around it")
    return word


def _words(words: tuple[str, ...]) -> tuple[str, ...]:
    _pattern(words_pattern(words))
    return words


def _schema(schema: dict[str, Any]) -> dict[str, Any]:
    try:
        return read_schema(schema)
    except InvalidInput as error:
        raise ValueError(f"{error.field.removeprefix('output').lstrip('.')} {error.rule}".strip()) from None


Pattern = Annotated[str, Field(min_length=1, max_length=10_000), AfterValidator(_pattern)]


Word = Annotated[str, Field(min_length=1, max_length=200), AfterValidator(_word)]


class GuardBase(EntryBase):
    """Fields of every guard."""

    when: GuardTime = GuardTime.AFTER
    then: GuardAction
    #: How often the agent is asked again in one turn, if `then` is `ask_again`.
    retries: int = Field(default=1, ge=1, le=10)
    #: Participant of kind human who is asked, if `then` is `park`.
    to: str | None = Field(default=None, min_length=1, max_length=200)

    @model_validator(mode="after")
    def _check_action(self) -> Self:
        if (self.then is GuardAction.PARK) != (self.to is not None):
            raise ValueError('`then = "park"` and `to = NAME` must be set together')
        if "retries" in self.model_fields_set and self.then is not GuardAction.ASK_AGAIN:
            raise ValueError('`retries` must be set with `then = "ask_again"` only')
        if self.when is GuardTime.BEFORE and self.then is GuardAction.ASK_AGAIN:
            raise ValueError('`then` must be skip, park or abort with `when = "before"`')
        return self


class LengthGuard(GuardBase):
    """Limits of the number of characters."""

    kind: Literal["length"]
    min_chars: int = Field(default=0, ge=0, le=_MAX_CHARS)
    max_chars: int | None = Field(default=None, ge=1, le=_MAX_CHARS)

    @model_validator(mode="after")
    def _check_limits(self) -> Self:
        if not self.min_chars and self.max_chars is None:
            raise ValueError("`min_chars` or `max_chars` must be set")
        if self.max_chars is not None and self.min_chars > self.max_chars:
            raise ValueError("`min_chars` must not be above `max_chars`")
        return self

    def find_fault(self, text: CheckedText) -> str | None:
        """Return why a text is refused; None: it is not."""
        return find_length_fault(text, min_chars=self.min_chars, max_chars=self.max_chars)


class PatternGuard(GuardBase):
    """A regular expression that must or must not match, without look-around and back-references."""

    kind: Literal["pattern"]
    forbid: Pattern | None = None
    require: Pattern | None = None

    @model_validator(mode="after")
    def _check_patterns(self) -> Self:
        if (self.forbid is None) == (self.require is None):
            raise ValueError("either `forbid` or `require` must be set")
        return self

    def find_fault(self, text: CheckedText) -> str | None:
        """Return why a text is refused; None: it is not."""
        return find_pattern_fault(text, forbid=self.forbid, require=self.require)


class DenyGuard(GuardBase):
    """Words that must not occur, as whole words in any case."""

    kind: Literal["deny"]
    words: Annotated[tuple[Word, ...], Field(min_length=1, max_length=1_000), AfterValidator(_words)]

    def find_fault(self, text: CheckedText) -> str | None:
        """Return why a text is refused; None: it is not."""
        return find_denied_word(text, self.words)


class SchemaGuard(GuardBase):
    """A JSON schema of the data of a turn or, without data, of its text as JSON."""

    kind: Literal["schema"]
    json_schema: Annotated[dict[str, Any], AfterValidator(_schema)] = Field(alias="schema")

    @model_validator(mode="after")
    def _check_time(self) -> Self:
        if self.when is GuardTime.BEFORE:
            raise ValueError("`when` must be after: a schema checks answers")
        return self

    def find_fault(self, text: CheckedText) -> str | None:
        """Return why a text is refused; None: it is not."""
        return find_schema_fault(text, self.json_schema)


class CallableGuard(GuardBase):
    """A Python callable that gets the turn, and the outcome or None, and returns a reason or None."""

    kind: Literal["callable"]
    callable: CallablePath


GuardEntry = Annotated[
    LengthGuard | PatternGuard | DenyGuard | SchemaGuard | CallableGuard, Field(discriminator="kind")
]


#: Values of `kind`.
GUARD_KINDS = ("length", "pattern", "deny", "schema", "callable")


def check_guard_names(path: str, agent: str, names: Sequence[str], *, known: Collection[str]) -> None:
    """Check that the guards of an agent exist.

    Args:
        path: Path of the agents file.
        agent: Name of the agent.
        names: Guards of the agent.
        known: Guards of the agents file.

    Raises:
        RegistryError: A guard does not exist.
    """
    for at, guard in enumerate(names):
        if guard not in known:
            near = nearest_names(guard, known) or "none exist"
            rule = f"must be a [guards] table ({near}; got {guard!r})"
            raise RegistryError(path, entry=f"agents.{agent}", field=f"guards[{at}]", rule=rule)


#: Called with the turn, and the outcome or None before the turn; returns a reason, or None.
GuardCallable = Callable[[TurnContext, TurnOutcome | None], object]


def callable_check(path: str, outcome: TurnOutcome | None, *, threads: DaemonThreadPool) -> PythonAgent:
    """Return an agent that says the reason why `outcome` is refused, or passes.

    Raises:
        AgentError: The callable cannot be imported.
    """
    check = cast("GuardCallable", cast("Any", load_callable(path)))
    return PythonAgent(lambda turn: check(turn, outcome), threads=threads)


def read_reason(guard: str, answer: TurnOutcome) -> str | None:
    """Return the reason that a callable guard gave; None: it approved.

    Raises:
        BadOutcome: It returned neither text nor None.
    """
    text = "\n".join(draft.content for draft in answer.messages)
    if answer == TurnOutcome.skip_turn():
        return None
    if not text or answer != TurnOutcome.say(text):
        raise BadOutcome(f"guard {guard!r}: must return the reason as text, or None")
    return excerpt(text, 500)
