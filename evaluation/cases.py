"""An evaluation: cases, variants of a session, and scorers.

    name: lamp                     # default: the name of the file
    session: pair.yaml             # a session file, or a table of its fields
    cases:
      - {name: doors, message: "Write about doors.", expect: door}
      - {name: short, inputs: {lines: 1}}     # values of the inputs of the session file
    variants:
      base: {}
      bold: {agents: {poet: {agent: poet, instructions: "Be bold."}}}
      together: {mode: broadcast, options: null}
    scorers:
      - {contains: "{expect}"}
    repeats: 3

A run is one case with one variant; each repeat is another run. A variant changes fields of the session: tables such
as `agents` and `options` are merged, other values replaced, and `null` removes a field.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Self

from pydantic import Field, JsonValue, ValidationError, model_validator

from ..models.errors import InvalidInput, invalid_input, within
from ..models.protocol.base import NonBlank
from ..models.sessions.input_texts import check_texts, fill_texts
from ..models.sessions.inputs import FIELD, InputValue, choose_values, read_inputs
from ..models.sessions.submission import Submission
from ..models.text.ids import derived_id
from ..models.text.redact import ABSENT
from ..models.turns.frozen import Frozen
from .scorers import Name, PlainJson, Scorer

#: Maximum number of runs of an evaluation.
MAX_RUNS = 10_000
#: Fields of a session that the evaluation sets itself, or that would make runs depend on one another.
_RESERVED = ("collab_id", "status", "continues", "thread_id", "task", "conversation", "room_id")
#: Tables of a session that are merged with those of a variant; other values are replaced.
_MERGED = ("agents", "options", "policies", "limits", "parameters", "policy", "defaults", "said")
_TITLE_LENGTH = 200


def _only_base() -> dict[str, dict[str, JsonValue]]:
    """Return the variants of an evaluation that names none: the session as it is."""
    return {"base": {}}


class Case(Frozen):
    """A case: the message that opens the dialog, the values of inputs, and what is expected of the answer."""

    #: Name in reports. Default: its number.
    name: Name | None = None
    #: None: the session has inputs, and the case is in them alone.
    message: Annotated[NonBlank, Field(max_length=100_000)] | None = None
    #: Values of the inputs of the session, by name. Checked with the session.
    inputs: dict[str, JsonValue] = Field(default_factory=dict)
    #: Value for `{expect}` in scorers, for programs and for judges.
    expect: PlainJson = None

    @property
    def has_expect(self) -> bool:
        """Whether `expect` is given."""
        return "expect" in self.model_fields_set


class EvaluationLimits(Frozen):
    """Limits of an evaluation: at one of them, no further session is submitted."""

    max_tokens: Annotated[int, Field(ge=1)] | None = None
    max_usd: Annotated[float, Field(gt=0)] | None = None

    def are_reached(self, *, tokens: int, cost_micros: int) -> bool:
        """Return whether what was spent reaches a limit."""
        return (self.max_tokens is not None and tokens >= self.max_tokens) or (
            self.max_usd is not None and cost_micros >= self.max_usd * 1e6
        )


class Evaluation(Frozen):
    """An evaluation, whose session files are in the places of their names."""

    name: Name
    session: dict[str, JsonValue]
    cases: Annotated[tuple[Case, ...], Field(min_length=1, max_length=MAX_RUNS)]
    variants: Annotated[dict[Name, dict[str, JsonValue]], Field(min_length=1, max_length=100)] = Field(
        default_factory=_only_base
    )
    scorers: Annotated[tuple[Scorer, ...], Field(min_length=1, max_length=50)]
    #: Participant whose last message is scored; None: the output, or else the last message of the dialog.
    answer_by: Name | None = None
    #: Runs of each case with each variant.
    repeats: Annotated[int, Field(ge=1, le=100)] = 1
    #: Maximum number of runs at the same time.
    parallel: Annotated[int, Field(ge=1, le=64)] = 8
    limits: EvaluationLimits = EvaluationLimits()

    @model_validator(mode="after")
    def _check_parts(self) -> Self:
        _check_unique("cases", [self.case_name(index) for index in range(len(self.cases))])
        _check_unique("scorers", [scorer.label for scorer in self.scorers])
        for where, table in (
            ("session", self.session),
            *((f"variants.{n}", t) for n, t in self.variants.items()),
        ):
            for field in _RESERVED:
                if field in table:
                    raise InvalidInput(f"{where}.{field}", table[field], "must not be set in an evaluation")
        self._check_inputs()
        scorer = next((scorer for scorer in self.scorers if scorer.needs_expect), None)
        for index, case in enumerate(self.cases):
            if scorer and not case.has_expect:
                rule = f"must be set, because scorer {scorer.label!r} uses it"
                raise InvalidInput(f"cases[{index}].expect", None, rule)
        if (runs := len(self.cases) * len(self.variants) * self.repeats) > MAX_RUNS:
            raise InvalidInput(
                "cases", runs, f"must give at most {MAX_RUNS:,} runs: cases x variants x repeats"
            )
        return self

    def _check_inputs(self) -> None:
        with within("session"):
            check_texts(self.session)
        declared = {FIELD: self.session[FIELD]} if FIELD in self.session else {}
        for variant, changes in self.variants.items():
            if FIELD in changes:
                rule = "must not be set in a variant: the session declares inputs, cases give their values"
                raise InvalidInput(f"variants.{variant}.{FIELD}", changes[FIELD], rule)
            with within(f"variants.{variant}"):
                check_texts({**changes, **declared})
        for index, case in enumerate(self.cases):
            with within(f"cases[{index}]"):
                if case.message is None and not case.inputs:
                    raise InvalidInput("message", ABSENT, "is required in a case without inputs")
                self._values_of(index)

    @classmethod
    def read(cls, document: Mapping[str, Any]) -> Self:
        """Read the table of a file.

        Raises:
            InvalidInput: A value breaks a rule.
        """
        try:
            return cls.model_validate(dict(document))
        except ValidationError as error:
            raise invalid_input(error) from None

    def case_name(self, index: int) -> str:
        """Return the name of a case: its own, or its number from 1."""
        return self.cases[index].name or str(index + 1)

    def session_of(self, variant: str, index: int = 0) -> dict[str, Any]:
        """Return the session of a variant with the inputs of a case, without the message of the case.

        Raises:
            InvalidInput: With these inputs, the texts are too long.
        """
        session, changes = self.session, self.variants[variant]
        if FIELD in session:
            session = {name: value for name, value in session.items() if name != FIELD}
            with within(f"cases[{index}]"):
                values = self._values_of(index)
                session, changes = fill_texts(session, values), fill_texts(changes, values)
        return merge_session(session, changes)

    def runs(self) -> Iterator[PlannedRun]:
        """Yield all runs: the first repeat of all cases and variants, then the second, and so on.

        Raises:
            InvalidInput: With the inputs of a case, the texts of a session are too long.
        """
        sessions = {} if FIELD in self.session else {name: self.session_of(name) for name in self.variants}
        for repeat in range(1, self.repeats + 1):
            for index in range(len(self.cases)):
                for variant in self.variants:
                    session = sessions.get(variant) or self.session_of(variant, index)
                    yield self._plan_run(index, variant, repeat, session)

    def _plan_run(self, index: int, variant: str, repeat: int, session: Mapping[str, Any]) -> PlannedRun:
        case, name, values = self.cases[index], self.case_name(index), self._values_of(index)
        title = f"{name} / {variant} #{repeat}: {session.get('title', '')}"
        messages = [*(session.get("messages") or ()), *([] if case.message is None else [case.message])]
        document = {**session, "title": title[:_TITLE_LENGTH], "messages": messages}
        # The order of keys in the file does not matter.
        identity = json.dumps(
            [self.name, name, variant, repeat, document, *([values] if values else [])], sort_keys=True
        )
        session_id = derived_id(f"evaluation|{identity}")
        return PlannedRun(index, name, case, values, variant, repeat, {**document, "collab_id": session_id})

    def _values_of(self, index: int) -> dict[str, InputValue]:
        """Return the values of the inputs of a case."""
        try:
            return choose_values(read_inputs(self.session), self.cases[index].inputs)
        except InvalidInput as error:
            error.rule += f", in case {self.case_name(index)!r}"
            raise


@dataclass(frozen=True, slots=True)
class PlannedRun:
    """One case with one variant. The id of its session follows from its content, so that it runs once."""

    #: Position of the case, from 0.
    index: int
    case_name: str
    case: Case
    #: Values of the inputs of its session.
    inputs: Mapping[str, InputValue]
    variant: str
    #: Number of the repeat, from 1.
    repeat: int
    #: The session, as a session file has it.
    document: Mapping[str, Any]

    @property
    def session_id(self) -> str:
        """Id of its session."""
        return str(self.document["collab_id"])

    def submission(self) -> Submission:
        """Return the submission of its session.

        Raises:
            InvalidInput: A value of the session breaks a rule.
        """
        return Submission.from_document(self.document).model_copy(update={"inputs": self.inputs})


def merge_session(session: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return a session with the changes of a variant; `None` removes a field, also in a merged table."""
    merged = {**session, **{name: _merged(name, session.get(name), value) for name, value in changes.items()}}
    return {name: value for name, value in merged.items() if value is not None}


def _merged(name: str, old: Any, new: Any) -> Any:
    if name in _MERGED and isinstance(new, Mapping):
        base = old if isinstance(old, Mapping) else {}
        return {key: value for key, value in {**base, **new}.items() if value is not None}
    return new


def _check_unique(where: str, names: list[str]) -> None:
    name, count = Counter(names).most_common(1)[0]
    if count > 1:
        raise InvalidInput(where, name, "must have different names")
