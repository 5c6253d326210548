"""Lanes of the participants: what each did when, as bars in percent of one axis of time. Pure.

A bar that is still going on ends at the right edge. The right edge moves in steps, so that a lane without news stays
the same text.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ..texts import duration

#: Bars of a lane: the newest are drawn.
MAX_BARS = 120
#: Parts of the axis between two labels.
_TICKS = 4
#: The right edge moves by this part of the length, rounded to a power of two.
_STEPS = 16
#: Outcomes of an attempt, as classes of its bar; others are those of a message.
_KINDS = {
    "passed": "off",
    "skipped": "off",
    "failed": "bad",
    "lost": "bad",
    "dropped": "bad",
    "refused": "bad",
}

Span = Mapping[str, Any]


class Axis(NamedTuple):
    """A part of time, in milliseconds since the epoch."""

    from_ms: int
    until_ms: int

    def percent(self, at_ms: float) -> float:
        """Return the place of an instant, from 0 to 100."""
        length = max(self.until_ms - self.from_ms, 1)
        return round(100 * min(max(at_ms - self.from_ms, 0), length) / length, 2)

    def ticks(self) -> list[int]:
        """Return the instants of the labels, without the right edge."""
        return [self.from_ms + (self.until_ms - self.from_ms) * part // _TICKS for part in range(_TICKS)]


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar of a lane; `x` and `width` in percent."""

    #: Class of its colour; empty: a message.
    kind: str
    x: float
    width: float
    text: str


def make_axis(spans: Sequence[Span], *, now_ms: int, is_final: bool) -> Axis:
    """Return the axis of some spans: up to their end, or up to the step after now."""
    begins = [begin for span in spans if (begin := _begin(span)) is not None]
    from_ms = min(begins, default=now_ms - 1)
    if is_final:
        return Axis(from_ms, max([*(span.get("ended_ms") or now_ms for span in spans), from_ms + 1]))
    length = max(now_ms - from_ms, 1_000)
    step = max((1 << (length.bit_length() - 1)) // _STEPS, 1_000)
    return Axis(from_ms, from_ms + -(-length // step) * step)


def draw_lanes(
    spans: Sequence[Span], waits: Sequence[Span], axis: Axis, *, is_final: bool, started_ms: int
) -> dict[str, list[Bar]]:
    """Return the bars by participant, oldest first.

    Args:
        spans: Attempts of turns, as `build_timeline` returns them.
        waits: Waits of turns for an answer.
        axis: The axis.
        is_final: Whether the session has ended: an attempt without an end was dropped then.
        started_ms: When the session was started: the first turn waits for a worker from then on.
    """
    lanes: defaultdict[str, list[Bar]] = defaultdict(list)
    queued = queue_begins(spans, started_ms=started_ms)
    by_key = {span["key"]: span for span in spans}
    for span in spans:
        lanes[span["participant"]] += _bars(span, by_key, queued.get(span["key"]), axis, is_final=is_final)
    turns = {span["turn"]: span["participant"] for span in spans}
    for wait in waits:
        if wait["turn"] in turns:
            kind = "ask" if wait["until_ms"] is None else "answered"
            text = f"turn {wait['turn']} waits for an answer"
            lanes[turns[wait["turn"]]].append(_bar(kind, wait["from_ms"], wait["until_ms"], axis, text))
    return {name: bars[-MAX_BARS:] for name, bars in lanes.items()}


def _bars(
    span: Span, by_key: Mapping[str, Span], queued_ms: int | None, axis: Axis, *, is_final: bool
) -> Iterator[Bar]:
    """Yield the wait for a worker, the pause before a retry, and the attempt."""
    began, ended, turn = span.get("began_ms"), span.get("ended_ms"), span["turn"]
    before = by_key.get(f"{turn}.{span['attempt'] - 1}")
    if (
        before is not None
        and None not in (before.get("ended_ms"), began)
        and before.get("outcome") == "failed"
    ):
        yield _bar(
            "backoff", before["ended_ms"], began, axis, f"turn {turn}: pause before attempt {span['attempt']}"
        )
    elif queued_ms is not None and began is not None:
        yield _bar(
            "queue", queued_ms, began, axis, f"turn {turn} waited {duration(began - queued_ms)} for a worker"
        )
    outcome = str(span.get("outcome") or ("dropped" if is_final else ""))
    kind = "now" if ended is None and not is_final else _KINDS.get(outcome, "")
    parts = (
        f"turn {turn}: {'speaks' if kind == 'now' else outcome or 'ended'}",
        f"attempt {span['attempt']}" if span["attempt"] > 1 else "",
        duration(ended - began) if began is not None and ended is not None else "",
        f"{span['tokens']:,} tokens" if span.get("tokens") else "",
        span.get("error") or "",
    )
    yield _bar(kind, axis.from_ms if began is None else began, ended, axis, ", ".join(filter(None, parts)))


def _bar(kind: str, from_ms: int, until_ms: int | None, axis: Axis, text: str) -> Bar:
    left = axis.percent(from_ms)
    right = 100.0 if until_ms is None else axis.percent(until_ms)
    return Bar(kind, left, round(max(right - left, 0.15), 2), text)


def queue_begins(spans: Sequence[Span], *, started_ms: int) -> dict[str, int]:
    """Return since when each attempt waited for a worker, by its key; attempts without a known wait are absent.

    The first attempt waits since the task that planned the turn ended, a later one is no wait for a worker.
    """
    ends: defaultdict[str, list[int]] = defaultdict(list)
    for span in spans:
        if span.get("task_id") and span.get("ended_ms") is not None:
            ends[span["task_id"]].append(span["ended_ms"])
    begins: dict[str, int] = {}
    for span in spans:
        began = span.get("began_ms")
        if began is None or span["attempt"] > 1:
            continue
        planned = [ended for ended in ends.get(span.get("parent_id") or "", ()) if ended <= began]
        since = max(planned, default=started_ms if span["turn"] == 1 else None)
        if since is not None and since <= began:
            begins[span["key"]] = since
    return begins


def _begin(span: Span) -> int | None:
    began: int | None = span.get("began_ms")
    return span.get("ended_ms") if began is None else began
