"""Scorers of an evaluation: checks of the answer, programs, and judges.

    scorers:
      - {contains: "{expect}"}
      - {name: short, regex: "^.{1,80}$"}
      - {field: verdict.approved, equals: true}
      - {program: ["./score.py"], timeout_s: 30}
      - {judge: critic, criteria: "Is the line true, and one that a reader remembers?"}

A judge is named, as each agent of a session; a program runs only where the evaluation is started.
"""

from __future__ import annotations

import json
from enum import StrEnum
from typing import Annotated, Self

from pydantic import AfterValidator, Field, JsonValue, field_validator, model_validator

from ..models.errors import InvalidInput
from ..models.protocol.base import NonBlank
from ..models.sessions.options import AgentBinding
from ..models.text.durations import Duration
from ..models.text.patterns import compile_pattern
from ..models.turns.frozen import Frozen


def _without_nul(text: str) -> str:
    if "\0" in text:
        raise ValueError("must not contain NUL characters")
    return text


def _check_plain(value: JsonValue) -> JsonValue:
    try:
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except UnicodeEncodeError:
        raise ValueError("must be valid UTF-8 text") from None
    except ValueError:
        raise ValueError("must contain finite numbers only") from None
    return value


#: JSON data that every program can read: UTF-8 text and finite numbers.
PlainJson = Annotated[JsonValue, AfterValidator(_check_plain)]
Name = Annotated[NonBlank, Field(max_length=100)]
#: An argument of a program, or the name of a variable.
ProgramText = Annotated[NonBlank, AfterValidator(_without_nul)]
#: Placeholder of `contains` and `equals` for what a case expects.
EXPECT = "{expect}"


class ScorerKind(StrEnum):
    """Kinds of scorers, by the field that each of them needs."""

    CONTAINS = "contains"
    REGEX = "regex"
    EQUALS = "equals"
    PROGRAM = "program"
    JUDGE = "judge"


#: Fields that only some kinds have.
_ONLY = {
    "field": (ScorerKind.CONTAINS, ScorerKind.REGEX, ScorerKind.EQUALS),
    "timeout_s": (ScorerKind.PROGRAM,),
    "env": (ScorerKind.PROGRAM,),
    "criteria": (ScorerKind.JUDGE,),
}


class Scorer(Frozen):
    """One scorer: exactly one of `contains`, `regex`, `equals`, `program` and `judge` is set."""

    #: Name in reports. Default: its kind, with the field if there is one.
    name: Name | None = None
    #: Text that the answer must contain.
    contains: Annotated[str, Field(min_length=1, max_length=10_000)] | None = None
    #: Regular expression that must match somewhere in the answer.
    regex: Annotated[str, Field(min_length=1, max_length=1_000)] | None = None
    #: Value that the answer must be equal to.
    equals: PlainJson = None
    #: Program and arguments. It gets the run as JSON, and prints a score.
    program: Annotated[tuple[ProgramText, ...], Field(min_length=1, max_length=100)] | None = None
    #: Agent that scores the answer in a session of one turn.
    judge: AgentBinding | None = None
    #: Path of the value in the output (or in an answer that is JSON) that is checked, such as `verdict.approved`.
    field: Annotated[NonBlank, Field(max_length=200)] | None = None
    #: Maximum seconds of the program.
    timeout_s: Annotated[Duration, Field(gt=0, le=3_600)] = 60.0
    #: Names of the variables that the program gets besides PATH, HOME, the locale and the time zone.
    env: Annotated[tuple[ProgramText, ...], Field(max_length=100)] = ()
    #: What the judge scores.
    criteria: Annotated[NonBlank, Field(max_length=10_000)] = "Is the answer correct and complete?"

    @field_validator("judge", mode="before")
    @classmethod
    def _from_name(cls, value: object) -> object:
        return {"agent": value} if isinstance(value, str) else value

    @field_validator("regex")
    @classmethod
    def _check_regex(cls, value: str | None) -> str | None:
        if value is not None:
            compile_pattern(value)
        return value

    @model_validator(mode="after")
    def _check_kind(self) -> Self:
        kinds = [kind for kind in ScorerKind if self._is_set(kind)]
        if len(kinds) != 1:
            raise ValueError(f"must have exactly one of {', '.join(ScorerKind)}")
        for name, allowed in _ONLY.items():
            if name in self.model_fields_set and kinds[0] not in allowed:
                value = getattr(self, name)
                raise InvalidInput(name, value, f"must be set only together with {' or '.join(allowed)}")
        return self

    def _is_set(self, kind: ScorerKind) -> bool:
        if kind is ScorerKind.EQUALS:  # `equals: null` is a rule, too
            return kind in self.model_fields_set
        return getattr(self, kind) is not None

    @property
    def kind(self) -> ScorerKind:
        """The kind of the scorer."""
        return next(kind for kind in ScorerKind if self._is_set(kind))

    @property
    def label(self) -> str:
        """Name in reports."""
        return self.name or (f"{self.kind} {self.field}" if self.field else self.kind.value)

    @property
    def needs_expect(self) -> bool:
        """Whether each case must have `expect`."""
        return self.equals == EXPECT or (self.contains is not None and EXPECT in self.contains)
