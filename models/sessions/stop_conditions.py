"""Stop conditions of sessions, composable with `&` and `|`.

    MaxRounds(5) | TokenBudget(50_000) | (TextSeen("DONE", by="lead") & MaxTurns(4))

A condition is data: it is stored with the session, and so is what it has observed, so a
restart neither resets nor repeats anything. Texts are examined once, when their turn is committed
(`marks`); later decisions use counters only.
"""

# ruff: noqa: ARG002, D102 - `Condition` documents the methods of each condition, which uses what it needs

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field
from itertools import count
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, TypedDict, cast

from pydantic import (
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    SerializerFunctionWrapHandler,
    TypeAdapter,
    WrapSerializer,
)
from pydantic.dataclasses import dataclass

from ..alignment.ledger import Ledger
from ..errors import InvalidInput
from ..outputs import OutputProgress
from ..text.durations import read_duration
from ..text.quoting import states
from ..text.words import count_of
from ..turns.frozen import Frozen
from ..turns.turn import RemainingBudget, TurnResult
from .plan import Totals

#: Minimum number of turns that repeat messages, before they end a session.
_MIN_REPEATS = 3
_CLOSED = ConfigDict(extra="forbid")
_Count = Annotated[int, Field(strict=True, ge=1, le=10**12)]
_Amount = Annotated[float, Field(strict=True, ge=1e-6, le=1e9, allow_inf_nan=False)]


class StopReason(Frozen):
    """Reason to stop a session."""

    #: A short code: `max_turns`, `text_seen`, ...; the codes of an `&` are joined with `+`.
    code: str
    detail: str
    #: True: the session does not wait for open turns.
    urgent: bool = False
    #: True: the session does not wait for open turns that have not begun, because the budget is spent.
    broke: bool = False


class _ConditionState(Frozen):
    """Observations of a session's conditions: the JSON `state` of the methods below."""

    #: Indices of the `TextSeen` leaves that were met.
    seen: tuple[int, ...] = ()
    #: Participants who had a turn since the last message.
    silent: tuple[str, ...] = ()
    all_silent: bool = False
    #: Numbers of the newest turns since the last message that brought something new, of those that repeat messages.
    repeats: tuple[int, ...] = ()
    #: The ledger, if a `Converged` leaf needs it.
    ledger: Ledger | None = None
    #: Progress of the session's output; the conditions do not use it.
    output: OutputProgress | None = None


_NOTHING_OBSERVED = _ConditionState()


def _read_state(state: dict[str, JsonValue]) -> _ConditionState:
    return _ConditionState.model_validate(state) if state else _NOTHING_OBSERVED


class _Evaluation(NamedTuple):
    """Input of one evaluation."""

    memory: _ConditionState
    totals: Totals
    #: Indices for the `TextSeen` leaves, depth first.
    indices: Iterator[int]


class _Limits(TypedDict, total=False):
    """The fields of a `RemainingBudget` that are bounded."""

    turns: int
    rounds: int
    tokens: int
    cost_micros: int
    seconds: float


class Condition:
    """Base of the stop conditions."""

    #: Name of the short form, such as `max_rounds`; empty: there is none.
    key: ClassVar[str] = ""

    def check(self, participants: Sequence[str], mode: str, *, has_rounds: bool) -> None:
        """Check that the condition can be met in a mode with these participants.

        Raises:
            InvalidInput: It cannot.
        """

    def depth(self) -> int:
        """Return how many levels of conditions with parts there are."""
        return 0

    def expected_turns(self, turns_a_round: int | None) -> int | None:
        """Return the number of turns if nothing else ends the session; None: unknown."""
        return self.turns_left(Totals())

    def __and__(self, other: StopCondition) -> AllOf:
        """Return the condition that both are met."""
        return AllOf(_parts(self, AllOf) + _parts(other, AllOf))

    def __or__(self, other: StopCondition) -> AnyOf:
        """Return the condition that at least one of them is met."""
        return AnyOf(_parts(self, AnyOf) + _parts(other, AnyOf))

    def leaves(self) -> Iterator[Condition]:
        """Yield the conditions that have no parts, depth first."""
        yield self

    def match_texts(self, texts: Sequence[str], participant: str) -> tuple[int, ...]:
        """Return the indices, depth first, of the `TextSeen` leaves that one turn's texts satisfy."""
        wanted = (leaf for leaf in self.leaves() if isinstance(leaf, TextSeen))
        return tuple(i for i, leaf in enumerate(wanted) if leaf.seen_in(texts, participant))

    def observe(
        self, state: dict[str, JsonValue], results: Sequence[TurnResult], *, roster_size: int
    ) -> dict[str, JsonValue]:
        """Return the state after these closed turns, as JSON data. Observing them twice changes nothing."""
        memory = _read_state(state)
        silent, all_silent, repeats = memory.silent, memory.all_silent, memory.repeats
        for result in results:
            is_idle = result.is_silent or result.repeats
            silent = tuple(dict.fromkeys((*silent, result.participant))) if is_idle else ()
            numbers = {*repeats, result.number} if result.repeats else {*repeats}
            repeats = tuple(sorted(numbers))[-_MIN_REPEATS:] if is_idle else ()
            all_silent = len(silent) >= roster_size and len(repeats) in (0, _MIN_REPEATS)
        seen = {*memory.seen, *(mark for result in results for mark in result.marks)}
        ledger = self._update_ledger(memory.ledger, results)
        if not (seen or silent or all_silent or repeats or ledger or memory.output):
            return {}  # after most turns
        after = _ConditionState(
            seen=tuple(sorted(seen)),
            silent=silent,
            all_silent=all_silent,
            repeats=repeats,
            ledger=ledger,
            output=memory.output,
        )
        return after.model_dump(mode="json", exclude_defaults=True)

    def _update_ledger(self, ledger: Ledger | None, results: Sequence[TurnResult]) -> Ledger | None:
        """Return the ledger after these turns; turns without the alignment protocol have no marks."""
        for result in results:
            if result.signs is None:
                continue
            experts = next((leaf.experts for leaf in self.leaves() if isinstance(leaf, Converged)), ())
            ledger_before = ledger or Ledger()
            ledger = ledger_before.after_turn(
                result.number, result.participant, result.signs, experts=experts
            )
        return ledger

    def reason(self, state: dict[str, JsonValue], totals: Totals) -> StopReason | None:
        """Return the reason to stop now; None: the session continues."""
        return self.evaluate(_Evaluation(_read_state(state), totals, count()))

    def remaining(self, totals: Totals) -> RemainingBudget:
        """Return the remainder of each kind of limit that applies; None: unbounded."""
        return RemainingBudget(**self.limits(totals))

    def turns_left(self, totals: Totals) -> int | None:
        """Return the number of turns that may still close under the turn limits; None: any number."""
        return self.limits(totals).get("turns")

    def to_data(self) -> dict[str, JsonValue]:
        """Return the JSON form, which `read_stop` reads."""
        return cast("dict[str, JsonValue]", STOP_CONDITION.dump_python(self, mode="json"))  # type: ignore[arg-type]

    def limits(self, totals: Totals) -> _Limits:
        """Return the limits for `remaining` of this node of the tree."""
        return {}

    def evaluate(self, facts: _Evaluation) -> StopReason | None:
        """Return `reason` of this node of the tree."""
        raise NotImplementedError


@dataclass(frozen=True, config=_CLOSED)
class MaxTurns(Condition):
    """Stop after n closed turns, including passes and skipped turns. No more are planned."""

    key: ClassVar[str] = "max_turns"

    turns: _Count
    kind: Literal["max_turns"] = field(default="max_turns", kw_only=True, repr=False)

    def limits(self, totals: Totals) -> _Limits:
        return _Limits(turns=max(0, self.turns - totals.turns))

    def evaluate(self, facts: _Evaluation) -> StopReason | None:
        return _limit(self.kind, facts.totals.turns, self.turns, unit="turns")


@dataclass(frozen=True, config=_CLOSED)
class MaxRounds(Condition):
    """Stop after n rounds; the mode defines a round."""

    key: ClassVar[str] = "max_rounds"

    rounds: _Count
    kind: Literal["max_rounds"] = field(default="max_rounds", kw_only=True, repr=False)

    def check(self, participants: Sequence[str], mode: str, *, has_rounds: bool) -> None:
        if not has_rounds:
            rule = f"must not be set for a {mode}, which has no rounds"
            raise InvalidInput("stop.max_rounds", self.rounds, rule)

    def expected_turns(self, turns_a_round: int | None) -> int | None:
        return None if turns_a_round is None else self.rounds * turns_a_round

    def limits(self, totals: Totals) -> _Limits:
        return _Limits(rounds=max(0, self.rounds - totals.rounds))

    def evaluate(self, facts: _Evaluation) -> StopReason | None:
        return _limit(self.kind, facts.totals.rounds, self.rounds, unit="rounds")


@dataclass(frozen=True, config=_CLOSED)
class TokenBudget(Condition):
    """Stop after n input and output tokens. The turn that spends the last of them is kept."""

    key: ClassVar[str] = "max_tokens"

    tokens: _Count
    kind: Literal["token_budget"] = field(default="token_budget", kw_only=True, repr=False)

    def limits(self, totals: Totals) -> _Limits:
        return _Limits(tokens=max(0, self.tokens - totals.usage.tokens))

    def evaluate(self, facts: _Evaluation) -> StopReason | None:
        return _limit(self.kind, facts.totals.usage.tokens, self.tokens, unit="tokens", broke=True)


@dataclass(frozen=True, config=_CLOSED)
class CostBudget(Condition):
    """Stop after n US dollars. The turn that spends the last of them is kept."""

    key: ClassVar[str] = "max_cost_usd"

    usd: _Amount
    kind: Literal["cost_budget"] = field(default="cost_budget", kw_only=True, repr=False)

    def limits(self, totals: Totals) -> _Limits:
        return _Limits(cost_micros=max(0, round(self.usd * 1e6) - totals.usage.cost_micros))

    def evaluate(self, facts: _Evaluation) -> StopReason | None:
        spent = facts.totals.usage.cost_micros / 1e6
        return _limit(self.kind, spent, self.usd, unit="US dollars", broke=True)


@dataclass(frozen=True, config=_CLOSED)
class Deadline(Condition):
    """Stop n seconds (or `10m`) after the session began, without waiting for open turns."""

    key: ClassVar[str] = "deadline_s"

    seconds: Annotated[_Amount, BeforeValidator(read_duration)]
    kind: Literal["deadline"] = field(default="deadline", kw_only=True, repr=False)

    def limits(self, totals: Totals) -> _Limits:
        return _Limits(seconds=max(0.0, self.seconds - totals.elapsed_s))

    def evaluate(self, facts: _Evaluation) -> StopReason | None:
        return _limit(self.kind, facts.totals.elapsed_s, self.seconds, unit="seconds", urgent=True)


@dataclass(frozen=True, config=_CLOSED)
class TextSeen(Condition):
    """Stop after a text (a marker, a phrase) from any or one participant. Once met, it stays met.

    The text must be stated: as whole words, not in code, a quotation, a negation or a question.
    """

    key: ClassVar[str] = "text"

    text: Annotated[str, Field(min_length=1, max_length=1_000)]
    by: str | None = None
    ignore_case: bool = True
    kind: Literal["text_seen"] = field(default="text_seen", kw_only=True, repr=False)

    def check(self, participants: Sequence[str], mode: str, *, has_rounds: bool) -> None:
        if self.by not in (None, *participants):
            rule = f"must be the id of a participant: {', '.join(participants)}"
            raise InvalidInput("stop.text.by", self.by, rule)

    def seen_in(self, texts: Sequence[str], participant: str) -> bool:
        """Return whether `texts` of `participant` meet this condition."""
        if self.by not in (None, participant):
            return False
        return any(states(text, self.text, ignore_case=self.ignore_case) for text in texts)

    def evaluate(self, facts: _Evaluation) -> StopReason | None:
        if next(facts.indices) not in facts.memory.seen:
            return None
        return StopReason(code=self.kind, detail=f"{self.by or 'someone'} said {self.text!r}")


@dataclass(frozen=True, config=_CLOSED)
class RoundOfPasses(Condition):
    """Stop when all participants passed: every one had a turn since the last message that brought something new."""

    key: ClassVar[str] = "round_of_passes"

    kind: Literal["round_of_passes"] = field(default="round_of_passes", kw_only=True, repr=False)

    def evaluate(self, facts: _Evaluation) -> StopReason | None:
        if not facts.memory.all_silent:
            return None
        if not facts.memory.repeats:
            return StopReason(code=self.kind, detail="every participant passed")
        turns = ", ".join(map(str, facts.memory.repeats))
        return StopReason(
            code="repetition", detail=f"the participants repeat themselves, last in turns {turns}"
        )


@dataclass(frozen=True, config=_CLOSED)
class Converged(Condition):
    """Stop an alignment session after a round without open tensions and new perspectives in which all agreed."""

    #: Participant ids of the experts who must agree.
    experts: Annotated[tuple[str, ...], Field(min_length=1)]
    kind: Literal["converged"] = field(default="converged", kw_only=True, repr=False)

    def evaluate(self, facts: _Evaluation) -> StopReason | None:
        ledger = facts.memory.ledger
        if ledger is None or not ledger.converged:
            return None
        return StopReason(
            code=self.kind, detail=f"no open tension after {count_of(len(ledger.rounds), 'round')}"
        )


_Parts = Annotated["tuple[StopCondition, ...]", Field(min_length=1)]


@dataclass(frozen=True, config=_CLOSED)
class _WithParts(Condition):
    """Base of the conditions that have parts."""

    conditions: _Parts

    def leaves(self) -> Iterator[Condition]:
        return (leaf for part in self.conditions for leaf in part.leaves())

    def depth(self) -> int:
        return 1 + max(part.depth() for part in self.conditions)


@dataclass(frozen=True, config=_CLOSED)
class AnyOf(_WithParts):
    """Stop when at least one of the conditions is met."""

    key: ClassVar[str] = "any"

    kind: Literal["any"] = field(default="any", kw_only=True, repr=False)

    def limits(self, totals: Totals) -> _Limits:
        return _tightest(self.conditions, totals)

    def expected_turns(self, turns_a_round: int | None) -> int | None:
        lengths = [part.expected_turns(turns_a_round) for part in self.conditions]
        return min((length for length in lengths if length is not None), default=None)

    def evaluate(self, facts: _Evaluation) -> StopReason | None:
        met = _reasons_met(self.conditions, facts)
        return next((reason for reason in met if reason.urgent), met[0]) if met else None


@dataclass(frozen=True, config=_CLOSED)
class AllOf(_WithParts):
    """Stop when all of the conditions are met."""

    key: ClassVar[str] = "all"

    kind: Literal["all"] = field(default="all", kw_only=True, repr=False)

    def limits(self, totals: Totals) -> _Limits:
        return _loosest(self.conditions, totals)

    def expected_turns(self, turns_a_round: int | None) -> int | None:
        lengths = [part.expected_turns(turns_a_round) for part in self.conditions]
        known_lengths = [length for length in lengths if length is not None]
        return max(known_lengths) if len(known_lengths) == len(lengths) else None

    def evaluate(self, facts: _Evaluation) -> StopReason | None:
        met = _reasons_met(self.conditions, facts)
        if len(met) < len(self.conditions):
            return None
        code, detail = "+".join(r.code for r in met), " and ".join(r.detail for r in met)
        return StopReason(code=code, detail=detail, urgent=any(r.urgent for r in met))


def _with_kind(condition: Any, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
    """Write the tag even if defaults are left out, because reading needs it."""
    return {**dump(condition), "kind": condition.kind}


StopCondition = Annotated[
    MaxTurns
    | MaxRounds
    | TokenBudget
    | CostBudget
    | Deadline
    | TextSeen
    | RoundOfPasses
    | Converged
    | AnyOf
    | AllOf,
    Field(discriminator="kind"),
    WrapSerializer(_with_kind),
]
STOP_CONDITION: TypeAdapter[StopCondition] = TypeAdapter(StopCondition)


def _parts(condition: Any, kind: type[AnyOf] | type[AllOf]) -> tuple[StopCondition, ...]:
    return condition.conditions if isinstance(condition, kind) else (condition,)


def _reasons_met(parts: tuple[StopCondition, ...], facts: _Evaluation) -> list[StopReason]:
    # A list, not a generator: every part is evaluated, so that each TextSeen takes its own index.
    return [reason for reason in [part.evaluate(facts) for part in parts] if reason]


def _limit(
    code: str, spent: float, allowed: float, *, unit: str, urgent: bool = False, broke: bool = False
) -> StopReason | None:
    if spent < allowed:
        return None
    detail = f"{spent:,.10g} of {allowed:,.10g} {unit}"
    return StopReason(code=code, detail=detail, urgent=urgent, broke=broke)


def _tightest(parts: tuple[StopCondition, ...], totals: Totals) -> _Limits:
    """Return the limits of `|`: the smallest of each kind."""
    smallest: dict[str, float] = {}
    for part in parts:
        for name, left in cast("dict[str, float]", part.limits(totals)).items():
            smallest[name] = min(left, smallest.get(name, left))
    return cast("_Limits", smallest)


def _loosest(parts: tuple[StopCondition, ...], totals: Totals) -> _Limits:
    """Return the limits of `&`: the largest of each kind that all parts have."""
    limits = [cast("dict[str, float]", part.limits(totals)) for part in parts]
    names = set(limits[0]).intersection(*limits)
    return cast("_Limits", {name: max(part[name] for part in limits) for name in names})
