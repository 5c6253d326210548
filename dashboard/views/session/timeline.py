"""Timeline of a session: its grants, waits and marks, from its events. Pure.

Each event becomes a `Change`: a patch of a span, of a wait, or a mark. A page of events and a live stream give the
same changes, and their order between pages does not matter: the page that shows them merges patches with the same
key. So a reader may load older pages at any time, and read an entry twice.

- A span is one grant of a turn: attempt n of turn m. Its key is `m.n`.
- A wait is the time in which a turn waited for an answer from outside.
- A mark is an instant: a refused commit, a steering request, a suspension.

Times are those of the stream entries, in milliseconds since the epoch by the server's clock: they never decrease.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import JsonValue

from ....models.protocol.base import Event
from ....models.protocol.events import MapEvent, MAPEventType
from ....models.text.ids import entry_key

Patch = dict[str, JsonValue]

#: Journal events that begin and end the wait of a parked turn.
_PARKED, _ANSWERED = "turn.parked", "turn.answered"
#: Journal events that are no marks, because they happen at every turn or at the start.
_UNMARKED = frozenset({_PARKED, _ANSWERED, "session.created", "turn.spent"})


@dataclass(frozen=True, slots=True)
class Change:
    """What one event changes in a timeline."""

    at_ms: int
    #: Fields of the span `key`; fields that the event does not know are absent.
    span: Patch | None = None
    #: `{"turn", "from_ms"}` or `{"turn", "until_ms"}`.
    wait: Patch | None = None
    mark: Patch | None = None

    def to_json(self) -> Patch:
        """Return the change as JSON data."""
        parts: Patch = {"at_ms": self.at_ms}
        for name, part in (("span", self.span), ("wait", self.wait), ("mark", self.mark)):
            if part is not None:
                parts[name] = part
        return parts


def read_change(entry_id: str, event: MapEvent | Event) -> Change:
    """Return what an event changes.

    Args:
        entry_id: Id of its stream entry.
        event: The event: a MAP event or one of the journal.
    """
    at_ms = entry_key(entry_id)[0]
    if isinstance(event, Event):
        return _journal_change(at_ms, event)
    payload = event.payload or {}
    match event.event_type:
        case MAPEventType.TURN_DISPATCHED:
            return Change(at_ms, span=_begun(at_ms, payload))
        case MAPEventType.TURN_COMPLETED:
            return Change(
                at_ms,
                span=_ended(at_ms, payload),
                wait={"turn": _number(payload, "turn_number"), "until_ms": at_ms},
            )
        case MAPEventType.CONFLICT_DETECTED:
            return Change(at_ms, mark=_mark(at_ms, "refused commit", payload))
        case _:
            return Change(at_ms)


def _journal_change(at_ms: int, event: Event) -> Change:
    data = event.data or {}
    if event.event_type == _PARKED:
        return Change(at_ms, wait={"turn": _number(data, "turn_number"), "from_ms": at_ms})
    if event.event_type == _ANSWERED:
        return Change(at_ms, wait={"turn": _number(data, "turn_number"), "until_ms": at_ms})
    if event.event_type in _UNMARKED:
        return Change(at_ms)
    if event.event_type == "turn.worker.lost":
        return Change(at_ms, mark=_mark(at_ms, f"worker {_text(data, 'worker')} was lost", data))
    kind = "refused commit" if event.event_type == "turn.refused" else event.event_type
    return Change(at_ms, mark=_mark(at_ms, kind, data))


def _mark(at_ms: int, kind: str, data: Mapping[str, JsonValue]) -> Patch:
    return {
        "at_ms": at_ms,
        "kind": kind,
        "turn": _number(data, "turn_number") or None,
        "participant": _text(data, "participant_id") or None,
        "by": _text(data, "by") or None,
    }


def _begun(at_ms: int, payload: Mapping[str, JsonValue]) -> Patch:
    return {
        **_whose(payload),
        "began_ms": at_ms,
        "task_id": _text(payload, "task_id") or None,
        "parent_id": _text(payload, "parent_id") or None,
        "waited_ms": _number(payload, "waited_ms"),
    }


def _ended(at_ms: int, payload: Mapping[str, JsonValue]) -> Patch:
    result = payload.get("result")
    fields: Mapping[str, JsonValue] = result if isinstance(result, dict) else {}
    spent = fields.get("usage")
    usage: Mapping[str, JsonValue] = spent if isinstance(spent, dict) else {}
    return {
        **_whose(payload),
        "ended_ms": at_ms,
        "outcome": _text(fields, "outcome"),
        "error": _text(fields, "error"),
        "retried": fields.get("retried") is True,
        "tokens": _number(usage, "input_tokens") + _number(usage, "output_tokens"),
        "cost_micros": _number(usage, "cost_micros"),
    }


def _whose(payload: Mapping[str, JsonValue]) -> Patch:
    turn, attempt = _number(payload, "turn_number"), _number(payload, "attempt")
    return {
        "key": f"{turn}.{attempt}",
        "turn": turn,
        "attempt": attempt,
        "participant": _text(payload, "participant_id"),
    }


@dataclass(slots=True)
class TimelineBuilder:
    """Timeline under construction from changes, in any order."""

    #: Maximum number of spans, and of marks: the newest changes are kept.
    max_spans: int = 100_000
    #: Spans by their keys.
    spans: dict[str, Patch] = field(default_factory=dict)
    #: Begins and ends of waits, by turn.
    waits: dict[int, set[tuple[int, bool]]] = field(default_factory=dict)
    marks: dict[tuple[int, str, str], Patch] = field(default_factory=dict)

    def take(self, change: Change) -> None:
        """Add a change. The same one again changes nothing."""
        if change.span is not None:
            self.spans.setdefault(str(change.span["key"]), {}).update(change.span)
            if len(self.spans) > self.max_spans:
                dropped = self.spans.pop(next(iter(self.spans)))
                self.waits.pop(_number(dropped, "turn"), None)
        if change.mark is not None:
            key = (change.at_ms, str(change.mark["kind"]), str(change.mark["turn"]))
            self.marks[key] = change.mark
            if len(self.marks) > self.max_spans:
                del self.marks[next(iter(self.marks))]
        if change.wait is not None:
            begins = "from_ms" in change.wait
            self.waits.setdefault(_number(change.wait, "turn"), set()).add((change.at_ms, begins))

    def to_json(self) -> Patch:
        """Return spans by their beginning, with waits and marks."""
        ordered = sorted(self.spans.values(), key=_begin_of)
        return {
            "spans": list(ordered),
            "waits": [
                {"turn": turn, **wait} for turn in sorted(self.waits) for wait in _pairs(self.waits[turn])
            ],
            "marks": [self.marks[key] for key in sorted(self.marks)],
        }


def build_timeline(changes: Iterable[Change]) -> Patch:
    """Return the timeline of some changes: `spans`, `waits` and `marks`."""
    builder = TimelineBuilder()
    for change in changes:
        builder.take(change)
    return builder.to_json()


def join_timelines(older: Mapping[str, Any], newer: Mapping[str, Any]) -> dict[str, Any]:
    """Return the spans and waits of two parts of a timeline; of the same ones, `newer` has more."""
    spans: dict[str, Patch] = {}
    for span in (*older["spans"], *newer["spans"]):
        spans.setdefault(span["key"], {}).update(span)
    waits = {(wait["turn"], wait["from_ms"]): wait for wait in (*older["waits"], *newer["waits"])}
    return {"spans": sorted(spans.values(), key=_begin_of), "waits": [waits[key] for key in sorted(waits)]}


def _pairs(instants: set[tuple[int, bool]]) -> list[Patch]:
    """Return the waits of one turn; a wait whose end is not known has `until_ms` None."""
    waits: list[Patch] = []
    for at_ms, begins in sorted(instants, key=lambda instant: (instant[0], not instant[1])):
        is_open = bool(waits) and waits[-1]["until_ms"] is None
        if is_open:
            waits[-1]["until_ms"] = at_ms
        if begins:
            waits.append({"from_ms": at_ms, "until_ms": None})
    return waits


def _begin_of(span: Patch) -> tuple[int, int, int]:
    began, ended = span.get("began_ms"), span.get("ended_ms")
    at_ms = began if isinstance(began, int) else ended if isinstance(ended, int) else 0
    return at_ms, _number(span, "turn"), _number(span, "attempt")


def _text(data: Mapping[str, JsonValue], name: str) -> str:
    value = data.get(name)
    return value if isinstance(value, str) else ""


def _number(data: Mapping[str, JsonValue], name: str) -> int:
    value = data.get(name)
    return value if isinstance(value, int) else 0
