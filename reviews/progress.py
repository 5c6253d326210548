"""Progress of a running review: cost so far, and an estimate of the rest.

The estimate assumes that the remaining items take as long, and cost as much, as those reviewed so far. Items
that are unchanged take no time and are not counted.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

from ..models.text.words import count_of
from .state.records import BatchView


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
        """Return the progress in one line, such as `12 of 40, 4 running, 3,100 tokens, about 2 min left`."""
        parts = [f"{self.settled:,} of {self.total:,}"]
        parts += [f"{self.running:,} running"] if self.running else []
        parts += [f"{self.failed:,} failed"] if self.failed else []
        return ", ".join([*parts, *self.cost_parts])

    @property
    def cost_parts(self) -> tuple[str, ...]:
        """Return cost so far and the estimate in words; what is zero or not known is left out."""
        tokens, cost = "", ""
        if self.tokens:
            rest = f" (about {self.rest_tokens:,} more)" if self.rest_tokens else ""
            tokens = f"{count_of(self.tokens, 'token', spec=',')}{rest}"
        if self.cost_micros:
            rest = f" (about ${self.rest_cost_micros / 1e6:.4f} more)" if self.rest_cost_micros else ""
            cost = f"${self.cost_micros / 1e6:.4f}{rest}"
        left = f"about {duration_text(self.rest_s)} left" if self.rest_s else ""
        return tuple(filter(None, (tokens, cost, left)))


def duration_text(seconds: float) -> str:
    """Return a duration in words, such as `40 s`, `3 min` or `2 h 5 min`."""
    if seconds < 90:
        return f"{max(round(seconds), 1)} s"
    minutes = round(seconds / 60)
    if minutes < 90:
        return f"{minutes} min"
    hours, rest = divmod(minutes, 60)
    return f"{hours} h {rest} min" if rest else f"{hours} h"
