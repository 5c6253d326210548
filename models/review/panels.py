"""A panel: the reviewers of an item, with their mode, stop conditions and limits. Data only.

    [code]
    mode = "orchestrated"
    purpose = "Find what is wrong with this code."
    files = ["*.py"]
    stop = { max_rounds = 2 }

    [[code.seats]]
    name = "judge"
    agent = "judge"
    role = "orchestrator"

    [[code.seats]]
    name = "reviewer"              # taken by the model that is asked for; without one it stays empty,
    model = true                   # or is taken by `agent`

A panel names agents; code, files and hosts are configured in the workers' agents file only.
"""

from __future__ import annotations

import hashlib
import json
from fnmatch import fnmatchcase
from typing import Annotated, Self

from pydantic import AfterValidator, Field, JsonValue, model_validator

from ..errors import InvalidInput
from ..protocol.base import NonBlank, Text
from ..protocol.collab import CollabMode
from ..sessions.limits import TurnLimits
from ..sessions.options import AfterRetries, AgentName, FailurePolicy, ModeOptions, Protocol
from ..sessions.stop_syntax import read_stop
from ..turns.turn import Frozen, ShortText

#: Seats of a panel.
MAX_SEATS = 50


class Seat(Frozen):
    """A seat of a panel: a participant and its agent."""

    name: Annotated[NonBlank, Field(max_length=100)]
    #: Registered agent of the seat; for a model's seat, the agent if no model is requested.
    agent: AgentName | None = None
    #: True: the requested model takes this seat, or has taken it.
    model: bool = False
    #: Its role id in the session.
    role: ShortText | None = None
    instructions: Annotated[Text, Field(max_length=32_768)] | None = None
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    max_tokens: Annotated[int, Field(ge=1)] | None = None

    @model_validator(mode="after")
    def _requires_agent(self) -> Self:
        if self.agent is None and not self.model:
            raise ValueError("must have `agent`, `model = true`, or both")
        return self


def _checked_stop(data: dict[str, JsonValue] | None) -> dict[str, JsonValue] | None:
    if data is not None:
        try:
            read_stop(data, field="")
        except InvalidInput as error:
            raise ValueError(str(error)) from None
    return data


class BatchLimits(Frozen):
    """Limits of a whole batch; running items may finish, the rest is cancelled. None: no limit."""

    max_tokens: Annotated[int, Field(ge=1, le=10**12)] | None = None
    max_usd: Annotated[float, Field(ge=1e-6, le=1e6, allow_inf_nan=False)] | None = None
    #: Seconds from its start.
    max_s: Annotated[float, Field(gt=0, le=2_592_000)] | None = None

    @property
    def max_cost_micros(self) -> int | None:
        """The limit in millionths of a US dollar."""
        return None if self.max_usd is None else round(self.max_usd * 1e6)


class PathRule(Frozen):
    """A rule for the items whose paths match one of the patterns."""

    #: Patterns of a path below the root, or of the last name in it; `*` also matches `/`.
    paths: tuple[Annotated[NonBlank, Field(max_length=200)], ...] = Field(min_length=1, max_length=100)
    text: Annotated[NonBlank, Field(max_length=32_768)]

    def applies_to(self, path: str) -> bool:
        """Return whether the rule is for the item at `path`."""
        name = path.rpartition("/")[2]
        return any(fnmatchcase(path, it) or fnmatchcase(name, it) for it in self.paths)


class Panel(Frozen):
    """Reviewers and their rules."""

    name: Annotated[NonBlank, Field(max_length=100)]
    mode: CollabMode
    purpose: Annotated[NonBlank, Field(max_length=8_000)]
    seats: tuple[Seat, ...] = Field(min_length=1, max_length=MAX_SEATS)
    #: Patterns of the names it looks at, such as `*.py`; none: all.
    files: tuple[Annotated[NonBlank, Field(max_length=200)], ...] = Field(default=(), max_length=100)
    #: Rules of the project, which models are shown with every item.
    review_rules: Annotated[Text, Field(max_length=32_768)] = ""
    #: Rules for some items only.
    rules: tuple[PathRule, ...] = Field(default=(), max_length=100)
    #: Findings with less confidence are dropped, and counted.
    min_confidence: Annotated[float, Field(ge=0, le=1)] = 0.0
    #: When the session of an item ends, as session files say it.
    stop: Annotated[dict[str, JsonValue] | None, AfterValidator(_checked_stop)] = None
    options: ModeOptions = ModeOptions()
    protocol: Protocol | None = None
    #: Spending limits of a turn.
    limits: TurnLimits = TurnLimits()
    #: Policy for failing agents. An item whose reviewer was skipped counts as failed.
    policy: FailurePolicy = FailurePolicy(attempts=2, then=AfterRetries.SKIP)
    #: Maximum number of sessions of an item before it counts as failed.
    attempts: Annotated[int, Field(ge=1, le=10)] = 2
    #: Sessions side by side.
    parallel: Annotated[int, Field(ge=1, le=64)] = 4
    batch: BatchLimits = BatchLimits()

    @model_validator(mode="after")
    def _check_seat_names(self) -> Self:
        names = [seat.name for seat in self.seats]
        if len(set(names)) < len(names):
            raise ValueError("must have `seats` with different names")
        return self

    def rules_for(self, path: str) -> str:
        """Return the rules of the panel for the item at `path`; empty: there are none."""
        return "\n".join(
            filter(None, [self.review_rules, *(it.text for it in self.rules if it.applies_to(path))])
        )

    def with_model(self, model: str | None) -> Self:
        """Return the panel with the agent `model` in the seats for one; None: without any.

        Raises:
            InvalidInput: No seat is left.
        """
        taken = (_fill_seat(seat, model) for seat in self.seats)
        seats = tuple(seat for seat in taken if seat is not None)
        if not seats:
            raise InvalidInput(
                "model", model, f"must be an agent: panel {self.name!r} has only model reviewers"
            )
        return self.model_copy(update={"seats": seats})

    @property
    def agents(self) -> tuple[str, ...]:
        """Names of the agents that sit there now."""
        return tuple(dict.fromkeys(seat.agent for seat in self.seats if seat.agent))

    def sha(self, *versions: str) -> str:
        """Return 64 hexadecimal digits that change with the content of the panel; `versions`: of its programs."""
        how_it_runs = {"batch", "parallel", "attempts", "files"}
        content = [self.model_dump(mode="json", exclude=how_it_runs), sorted(versions)]
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _fill_seat(seat: Seat, model: str | None) -> Seat | None:
    if not seat.model:
        return seat
    agent = model or seat.agent
    return None if agent is None else seat.model_copy(update={"agent": agent, "model": model is not None})
