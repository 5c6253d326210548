"""Records of a batch review in Redis (its definition, progress and items), and an estimate of the rest.

The estimate assumes that the remaining items take as long, and cost as much, as those reviewed so far. Items
that are unchanged take no time and are not counted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import NamedTuple

from pydantic import Field, JsonValue

from ...models.sessions.known_agents import ReaderModel
from ...models.text.ids import Id
from ...models.text.words import count_of, dollars
from ...models.turns.frozen import Frozen
from ..values.panels import Panel
from ..values.runs import Item, ItemState, SkippedItem
from ..values.tool_settings import ToolSettings

#: Maximum number of items of a batch.
MAX_ITEMS = 100_000
#: Maximum bytes of text that a batch may keep until its sessions are opened.
MAX_TEXT_BYTES = 268_435_456


class BatchHead(Frozen):
    """Definition of a batch, written when it is created."""

    batch_id: Id
    root_name: str
    #: Identity of the root, by which earlier runs are found; empty: its name.
    root: str = ""
    #: Panel with an agent in every seat.
    panel: Panel
    panel_sha: str
    #: Models in the seats of the panel, by name of the seat.
    readers: dict[str, ReaderModel] = Field(default_factory=dict)
    skipped: tuple[SkippedItem, ...] = ()
    #: Tools that are not installed: agent, and the number of items that are reviewed without it.
    missing_tools: dict[str, int] = Field(default_factory=dict)
    #: True if it covers the whole root.
    is_whole: bool = False
    #: Reviewed git revision, and its branch.
    revision: str = ""
    branch: str = ""
    #: Scope of the run, by which a review since the last one finds it; empty: it never does.
    scope: str = ""
    #: Branch whose last runs decide which findings are new; empty: the last runs of any branch.
    against: str = ""
    #: Settings of the reviewed project for ruff and bandit.
    settings: ToolSettings = ToolSettings()
    #: Web address of the repository, and the root's folder in it; empty: not known.
    repository_url: str = ""
    repository_folder: str = ""
    #: What models are shown before the text of every item.
    guide: str = Field(default="", exclude_if=lambda value: not value)
    #: Deliveries at its end; contains only names from the workers' settings.
    then: dict[str, JsonValue] = Field(default_factory=dict)


class Needs(NamedTuple):
    """What a session is estimated to need; 1 if it is not known."""

    tokens: int = 1
    #: Millionths of a US dollar.
    cost_micros: int = 1


@dataclass(frozen=True, slots=True)
class BatchView:
    """Progress of a batch."""

    batch_id: str
    #: `opening`, `running`, `stopping`, `completed`, `partial`, `cancelled` or `failed`.
    state: str
    total: int
    waiting: int
    running: int
    done: int
    failed: int
    unchanged: int
    cancelled: int
    spent_tokens: int
    spent_cost_micros: int
    started_ms: int
    ended_ms: int | None
    #: Reason of a stop.
    reason: str
    #: Number of times that its failed items were retried after its end.
    retries: int = 0

    @property
    def has_ended(self) -> bool:
        """Return whether the batch has ended and was reported."""
        return self.state not in ("opening", "running", "stopping")

    @property
    def settled(self) -> int:
        """Return the number of finished items."""
        return self.done + self.failed + self.unchanged + self.cancelled


@dataclass(frozen=True, slots=True)
class ItemRecord:
    """One item of a batch."""

    number: int
    item: Item
    state: ItemState
    #: Number of its newest session.
    attempt: int
    #: Limit of its session in tokens; None: no limit.
    tokens: int | None
    cost_micros: int | None
    #: `ItemResult` of its newest finished attempt, as JSON.
    result: str | None
    #: Outputs of programs for it by agent, as JSON; empty: there are none.
    outputs: str = ""


#: Fields of the hash of a batch that the view has under the same name.
_NUMBERS = ("total", "done", "failed", "unchanged", "cancelled", "spent_tokens", "started_ms", "retries")


def batch_view(batch_id: str, fields: Mapping[str, str], *, waiting: int, running: int) -> BatchView:
    """Return the view of a batch from its hash."""

    def number(name: str) -> int:
        return int(fields.get(name) or 0)

    return BatchView(
        batch_id=batch_id,
        state=fields["state"],
        waiting=waiting,
        running=running,
        **{name: number(name) for name in _NUMBERS},
        spent_cost_micros=number("spent_cost"),
        ended_ms=number("ended_ms") or None,
        reason=fields.get("reason", ""),
    )


@dataclass(frozen=True, slots=True)
class Progress:
    """Progress of one review."""

    state: str
    total: int
    #: Items that have ended, unchanged ones included.
    settled: int
    running: int
    failed: int
    elapsed_s: float
    tokens: int
    cost_micros: int
    #: Estimates of the rest; None: no item was reviewed yet.
    rest_s: float | None
    rest_tokens: int | None
    rest_cost_micros: int | None

    @classmethod
    def of(cls, view: BatchView, *, now_ms: int) -> Progress:
        """Return the progress of a batch at a time in milliseconds since the epoch."""
        elapsed_s = max((view.ended_ms or now_ms) - view.started_ms, 0) / 1000
        reviewed = view.done + view.failed
        left = view.total - view.settled
        share = left / reviewed if reviewed else None if left else 0.0
        return cls(
            state=view.state,
            total=view.total,
            settled=view.settled,
            running=view.running,
            failed=view.failed,
            elapsed_s=elapsed_s,
            tokens=view.spent_tokens,
            cost_micros=view.spent_cost_micros,
            rest_s=None if share is None else elapsed_s * share,
            rest_tokens=None if share is None else round(view.spent_tokens * share),
            rest_cost_micros=None if share is None else round(view.spent_cost_micros * share),
        )

    def to_json(self) -> dict[str, object]:
        """Return the progress as JSON data."""
        return asdict(self)

    def __str__(self) -> str:
        """Return the progress in one line, such as `12 of 40, about 2 min left, 4 running, 3,100 tokens`."""
        *cost, left = self._cost
        return ", ".join(
            filter(
                None,
                (
                    f"{self.settled:,} of {self.total:,}",
                    left,
                    f"{self.running:,} running" if self.running else "",
                    f"{self.failed:,} failed" if self.failed else "",
                    *cost,
                ),
            )
        )

    @property
    def cost_parts(self) -> tuple[str, ...]:
        """Return cost so far and the estimate in words; what is zero or not known is left out."""
        return tuple(filter(None, self._cost))

    @property
    def _cost(self) -> tuple[str, str, str]:
        """Tokens, cost and the time that is left, in words; empty: zero, or not known."""
        tokens, cost = "", ""
        if self.tokens:
            rest = f" (about {self.rest_tokens:,} more)" if self.rest_tokens else ""
            tokens = f"{count_of(self.tokens, 'token', spec=',')}{rest}"
        if self.cost_micros:
            rest = f" (about {dollars(self.rest_cost_micros)} more)" if self.rest_cost_micros else ""
            cost = f"{dollars(self.cost_micros)}{rest}"
        return tokens, cost, f"about {duration_text(self.rest_s)} left" if self.rest_s else ""


def duration_text(seconds: float) -> str:
    """Return a duration in words, such as `40 s`, `3 min` or `2 h 5 min`."""
    if seconds < 90:
        return f"{max(round(seconds), 1)} s"
    minutes = round(seconds / 60)
    if minutes < 90:
        return f"{minutes} min"
    hours, rest = divmod(minutes, 60)
    return f"{hours} h {rest} min" if rest else f"{hours} h"
