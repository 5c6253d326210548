"""Lanes of the participants: what each did when, as bars in percent of one axis of time. Pure.

A bar that is still going on ends at the right edge. The right edge moves in steps, so that a lane without news stays
the same text.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ....models.text.words import count_of
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

#: States of open turns that pause: after a failure, or because of a limit elsewhere; and of those without a worker.
PAUSING = ("retries", "postponed")
WAITING = ("queued", *PAUSING)

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


def make_axis(
    spans: Sequence[Span],
    *,
    now_ms: int,
    is_final: bool,
    since_ms: int | None = None,
    until_ms: int | None = None,
) -> Axis:
    """Return the axis of some spans: up to their end, or up to the step after now; or between the given times."""
    begins = [begin for span in spans if (begin := _begin(span)) is not None]
    from_ms = min(begins, default=now_ms - 1) if since_ms is None else since_ms
    if until_ms is not None:
        return Axis(from_ms, max(until_ms, from_ms + 1))
    if is_final:
        ends = [span.get("ended_ms") or now_ms for span in spans]
        return Axis(from_ms, max([*ends, *begins, from_ms + 1]))
    length = max(now_ms - from_ms, *(begin - from_ms for begin in begins), 1_000)
    step = max((1 << (length.bit_length() - 1)) // _STEPS, 1_000)
    return Axis(from_ms, from_ms + -(-length // step) * step)


def draw_lanes(
    spans: Sequence[Span],
    waits: Sequence[Span],
    axis: Axis,
    *,
    is_final: bool,
    open_turns: Sequence[Mapping[str, Any]] = (),
    now_ms: int = 0,
) -> dict[str, list[Bar]]:
    """Return the bars by participant, oldest first.

    Args:
        spans: Attempts of turns, as `build_timeline` returns them.
        waits: Waits of turns for an answer.
        axis: The axis. Bars outside of it are left out.
        is_final: Whether the session has ended: an attempt without an end was dropped then.
        open_turns: Open turns, as `session_json` returns them. Those that wait for an attempt are drawn.
        now_ms: The time by the server's clock.
    """
    lanes: defaultdict[str, list[Bar]] = defaultdict(list)
    by_key = {span["key"]: span for span in spans}
    for span in spans:
        lanes[span["participant"]] += _bars(span, by_key, axis, is_final=is_final)
    for turn in open_turns:
        if turn["state"] in WAITING and turn["queued_ms"] is not None:
            last = by_key.get(f"{turn['turn']}.{turn['attempt']}")
            lanes[turn["participant"]] += _waiting_bars(turn, last, axis, now_ms)
    turns = {span["turn"]: span["participant"] for span in spans}
    for wait in waits:
        if wait["turn"] in turns:
            kind = "ask" if wait["until_ms"] is None else "answered"
            text = f"turn {wait['turn']} waits for an answer"
            lanes[turns[wait["turn"]]] += _bar(kind, wait["from_ms"], wait["until_ms"], axis, text)
    return {name: bars[-MAX_BARS:] for name, bars in lanes.items()}


def _bars(span: Span, by_key: Mapping[str, Span], axis: Axis, *, is_final: bool) -> Iterator[Bar]:
    """Yield the pause before a retry, the wait for a worker, and the attempt."""
    began, ended, turn = span.get("began_ms"), span.get("ended_ms"), span["turn"]
    if began is not None:
        queued_ms = began - span.get("waited_ms", 0)
        before = by_key.get(f"{turn}.{span['attempt'] - 1}")
        if before is not None and before.get("ended_ms") and before.get("outcome") == "failed":
            text = f"turn {turn}: pause before attempt {span['attempt']}"
            yield from _bar("backoff", before["ended_ms"], queued_ms, axis, text)
        if queued_ms < began:
            text = f"turn {turn} waited {duration(began - queued_ms)} for a worker"
            yield from _bar("queue", queued_ms, began, axis, text)
    outcome = str(span.get("outcome") or ("dropped" if is_final else ""))
    kind = "now" if ended is None and not is_final else _KINDS.get(outcome, "")
    parts = (
        f"turn {turn}: {'speaks' if kind == 'now' else outcome or 'ended'}",
        f"attempt {span['attempt']}" if span["attempt"] > 1 else "",
        duration(ended - began) if began is not None and ended is not None else "",
        count_of(span["tokens"], "token", spec=",") if span.get("tokens") else "",
        span.get("error") or "",
    )
    text = ", ".join(filter(None, parts))
    yield from _bar(kind, axis.from_ms if began is None else began, ended, axis, text)


def _waiting_bars(turn: Mapping[str, Any], last: Span | None, axis: Axis, now_ms: int) -> Iterator[Bar]:
    """Yield the pause and the wait for a worker of a turn whose next attempt has not begun."""
    queued_ms, is_queued = turn["queued_ms"], turn["queued_ms"] <= now_ms
    if last is not None and last.get("ended_ms") and last.get("outcome") == "failed":
        text = f"turn {turn['turn']}: pause before attempt {turn['attempt'] + 1}"
        yield from _bar("backoff", last["ended_ms"], queued_ms if is_queued else None, axis, text)
    if is_queued:
        yield from _bar("queue", queued_ms, None, axis, f"turn {turn['turn']} waits for a worker")


def _bar(kind: str, from_ms: int, until_ms: int | None, axis: Axis, text: str) -> Iterator[Bar]:
    """Yield a bar, if it is not outside of the axis."""
    if from_ms > axis.until_ms or (until_ms is not None and until_ms < axis.from_ms):
        return
    left = axis.percent(from_ms)
    right = 100.0 if until_ms is None else axis.percent(until_ms)
    yield Bar(kind, left, round(max(right - left, 0.15), 2), text)


def _begin(span: Span) -> int | None:
    began: int | None = span.get("began_ms")
    return span.get("ended_ms") if began is None else began
