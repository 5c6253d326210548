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

    [[code.tools]]                 # programs by file name: each reviews the items that it matches
    agent = "shellcheck"
    files = ["*.sh"]

A panel names agents; code, files and hosts are configured in the workers' agents file only.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Container, Iterable, Mapping
from fnmatch import fnmatchcase
from operator import not_
from typing import Annotated, Self

from pydantic import AfterValidator, Field, JsonValue, model_validator

from ...models.errors import InvalidInput
from ...models.modes import mode_of
from ...models.protocol.base import NonBlank, Text
from ...models.protocol.collab import CollabMode
from ...models.sessions.known_agents import ReaderModel
from ...models.sessions.limits import TurnLimits
from ...models.sessions.options import AfterRetries, AgentName, FailurePolicy, ModeOptions, Protocol
from ...models.sessions.stop_syntax import read_stop
from ...models.text.durations import Duration
from ...models.turns.frozen import Frozen, ShortText

#: Maximum sessions side by side, and seconds of a session, whose models are asked through batch APIs: each of several
#: batches in a row takes a day at most.
BATCH_API_PARALLEL, BATCH_API_DEADLINE_S = 1_000, 3 * 86_400
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


Pattern = Annotated[NonBlank, Field(max_length=200)]


class PanelTool(Frozen):
    """A program of a panel, which takes part in the sessions of the items that match its patterns."""

    #: Registered agent; its name is that of the participant.
    agent: AgentName
    #: Patterns of file names, such as `*.sh`.
    files: tuple[Pattern, ...] = Field(min_length=1, max_length=100)

    def reviews(self, path: str) -> bool:
        """Return whether the tool reviews files of that name."""
        return matches_name(path, self.files)


def matches_name(path: str, patterns: Iterable[str]) -> bool:
    """Return whether the last part of a path matches one of the patterns."""
    name = path.rpartition("/")[2]
    return any(fnmatchcase(name, pattern) for pattern in patterns)


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
    max_s: Annotated[Duration, Field(gt=0, le=2_592_000)] | None = None

    @property
    def max_cost_micros(self) -> int | None:
        """The limit in millionths of a US dollar."""
        return None if self.max_usd is None else round(self.max_usd * 1e6)


class PathRule(Frozen):
    """A rule for the items whose paths match one of the patterns."""

    #: Patterns of a path below the root, or of the last name in it; `*` also matches `/`.
    paths: tuple[Pattern, ...] = Field(min_length=1, max_length=100)
    text: Annotated[NonBlank, Field(max_length=32_768)]

    def applies_to(self, path: str) -> bool:
        """Return whether the rule is for the item at `path`."""
        name = path.rpartition("/")[2]
        return any(fnmatchcase(path, pattern) or fnmatchcase(name, pattern) for pattern in self.paths)


class Panel(Frozen):
    """Reviewers and their rules."""

    name: Annotated[NonBlank, Field(max_length=100)]
    mode: CollabMode
    purpose: Annotated[NonBlank, Field(max_length=8_000)]
    seats: tuple[Seat, ...] = Field(min_length=1, max_length=MAX_SEATS)
    #: Programs by file name. A panel with tools reviews what they review, and with a model all text.
    tools: tuple[PanelTool, ...] = Field(default=(), max_length=MAX_SEATS)
    #: Patterns of the names it looks at, such as `*.py`; none: all.
    files: tuple[Pattern, ...] = Field(default=(), max_length=100)
    #: Patterns of names that it never looks at.
    exclude: tuple[Pattern, ...] = Field(default=(), max_length=100)
    #: True: a model has a seat. Set by `with_model`.
    has_model: bool = False
    #: Rules of the project, which models are shown with every item.
    review_rules: Annotated[Text, Field(max_length=32_768)] = ""
    #: Rules for some items only.
    rules: tuple[PathRule, ...] = Field(default=(), max_length=100)
    #: Maximum files of the project that a model may read in a turn, by the tool `read_file`; 0: no tool.
    read_files: Annotated[int, Field(ge=0, le=50)] = 0
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
    #: Whether models are asked through the batch APIs of their providers, which cost less and take up to a day. Left out
    #: if not.
    batch_api: bool = Field(default=False, exclude_if=not_)
    #: Sessions side by side with batch APIs; None: the maximum. Left out if None.
    batch_parallel: Annotated[int, Field(ge=1, le=BATCH_API_PARALLEL)] | None = Field(
        default=None, exclude_if=not_
    )

    @model_validator(mode="after")
    def _check_seat_names(self) -> Self:
        names = [*(seat.name for seat in self.seats), *(tool.agent for tool in self.tools)]
        if len(set(names)) < len(names):
            raise ValueError("must have `seats` with different names, and `tools` with different agents")
        return self

    @property
    def side_by_side(self) -> int:
        """Number of sessions side by side. With batch APIs nearly all of them wait, and need no worker."""
        return self.batch_parallel or BATCH_API_PARALLEL if self.batch_api else self.parallel

    def with_parallel(self, parallel: int | None) -> Self:
        """Return the panel with a requested number of sessions side by side; None: its own."""
        changes = {} if parallel is None else {"parallel": parallel, "batch_parallel": parallel}
        return self.model_copy(update=changes)

    @property
    def session_stop(self) -> dict[str, JsonValue] | None:
        """When the session of an item ends. With batch APIs, a deadline leaves time for them."""
        if not self.batch_api or self.stop is None or "deadline_s" not in self.stop:
            return self.stop
        return {**self.stop, "deadline_s": BATCH_API_DEADLINE_S}

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
        has_model = any(seat.model and (model or seat.agent) for seat in self.seats)
        return self.model_copy(update={"seats": seats, "has_model": has_model})

    @property
    def agents(self) -> tuple[str, ...]:
        """Names of the agents that sit there now, and of the tools."""
        seated = (seat.agent for seat in self.seats if seat.agent)
        return tuple(dict.fromkeys([*seated, *(tool.agent for tool in self.tools)]))

    def reviews(self, path: str) -> bool:
        """Return whether the panel reviews files of that name."""
        if matches_name(path, self.exclude) or (self.files and not matches_name(path, self.files)):
            return False
        return self.has_model or not self.tools or bool(self.tools_for(path))

    def tools_for(self, path: str) -> tuple[PanelTool, ...]:
        """Return the tools that review files of that name."""
        return tuple(tool for tool in self.tools if tool.reviews(path))

    def for_path(self, path: str) -> Self:
        """Return the panel of an item: the tools for its path have seats before the panel's own.

        The orchestrator stays the first.
        """
        tools = (Seat(name=tool.agent, agent=tool.agent) for tool in self.tools_for(path))
        first = self.seats[:1] if mode_of(self.mode).has_orchestrator else ()
        return self.model_copy(update={"seats": (*first, *tools, *self.seats[len(first) :]), "tools": ()})

    def without_tools(self, agents: Container[str]) -> Self:
        """Return the panel without the tools of these agents."""
        return self.model_copy(
            update={"tools": tuple(tool for tool in self.tools if tool.agent not in agents)}
        )

    def sha(self, *versions: str) -> str:
        """Return 64 hexadecimal digits that change with the content of the panel; `versions`: of its programs."""
        how_it_runs = {"batch", "batch_api", "batch_parallel", "parallel", "attempts", "files", "exclude"}
        content = [self.model_dump(mode="json", exclude=how_it_runs), sorted(versions)]
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _fill_seat(seat: Seat, model: str | None) -> Seat | None:
    if not seat.model:
        return seat
    agent = model or seat.agent
    return None if agent is None else seat.model_copy(update={"agent": agent, "model": model is not None})


def readers_of(
    panel: Panel, models: Mapping[str, ReaderModel], *, known_agents: Iterable[str] = ()
) -> dict[str, ReaderModel]:
    """Return the models in the seats of a panel, by seat, with the prices that it pays.

    In a seat for a model, an agent that is not known is one.
    """
    agent_names = frozenset(known_agents)
    if panel.batch_api:
        models = {name: model.in_batches() for name, model in models.items()}
    return {
        seat.name: models.get(seat.agent, ReaderModel())
        for seat in panel.seats
        if seat.agent and (seat.agent in models or (seat.model and seat.agent not in agent_names))
    }


def smallest_window(readers: Mapping[str, ReaderModel]) -> int:
    """Return the tokens that fit in a request to each of the models; at least one is required."""
    return min(reader.context_tokens for reader in readers.values())
