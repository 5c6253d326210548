"""The contents of one session's keys, in the form in which equal states have equal texts.

The model's clock always shows `NOW_MS`. A time that has passed is stored as `PAST_MS`, a later one by its distance.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar
from weakref import WeakValueDictionary

#: A time in the far future: keys that expire by the model's clock stay on the server.
NOW_MS = 4_000_000_000_000
PAST_MS = NOW_MS - 1
#: How much time passes before a sweep: more than every delay of the sweep and of a retry.
LONG_MS = 10_000_000
#: Time until the deadline of a question: it passes with the second sweep.
DEADLINE_MS = 15_000_000
LOCK_DEADLINE_MS = NOW_MS + LONG_MS
#: What a message from outside begins with: it belongs to no turn.
POSTED = "0|post "

#: Fields that no script decides by: numbers for the ids of events, and how long a message waited.
_IGNORED_FIELDS = frozenset({"map_events", "notes", "collab", "spec", "digest", "opened_ms", "actor"})
_IGNORED_IN_RECORDS = frozenset({"waited_ms", "lost_worker"})
#: Counters of repeated sends: they only delay the next one, and a sweep of the model comes after every delay.
_SATURATED = frozenset({"dispatches", "advances"})
#: Statuses of a turn with an open grant.
_GRANTED = ("speaking", "parked", "held")


class Store:
    """The session's hashes, dialog and locks; stores that no script can distinguish are one object."""

    __slots__ = ("__dict__", "__weakref__", "text")
    _known: ClassVar[WeakValueDictionary[str, Store]] = WeakValueDictionary()

    text: str

    def __new__(cls, text: str) -> Store:
        store = cls._known.get(text)
        if store is None:
            store = cls._known[text] = super().__new__(cls)
            store.text = text
        return store

    @cached_property
    def _parts(self) -> dict[str, Any]:
        return json.loads(self.text)

    @cached_property
    def session(self) -> dict[str, str]:
        """Return the session hash."""
        return self._parts["session"]

    @cached_property
    def status(self) -> str:
        """Return the status of the session."""
        return self.session["status"]

    @cached_property
    def is_final(self) -> bool:
        """Return whether the session has ended."""
        return self.status in ("completed", "cancelled")

    @cached_property
    def dialog(self) -> list[str]:
        """Return the messages: `number|token` of each turn, and those that were posted from outside."""
        return self._parts["dialog"]

    @cached_property
    def written(self) -> list[int]:
        """Return the numbers of the turns in the dialog, in its order."""
        return [int(it.partition("|")[0]) for it in self.dialog if not it.startswith(POSTED)]

    @cached_property
    def waiting_posts(self) -> list[str]:
        """Return the posted messages that wait for the next write."""
        return json.loads(self.session.get("posts", "[]"))

    @cached_property
    def locks(self) -> dict[str, str]:
        """Return the holder of each lock by its scope."""
        return self._parts["locks"]

    @cached_property
    def turns(self) -> dict[int, dict[str, Any]]:
        """Return the records of the turns hash by their numbers."""
        return {int(n): json.loads(text) for n, text in sorted(self._parts["turns"].items()) if ":" not in n}

    @cached_property
    def open_turns(self) -> list[int]:
        """Return the numbers of the open turns."""
        return [n for n, turn in self.turns.items() if turn["status"] not in ("closed", "dropped")]

    @cached_property
    def open_scopes(self) -> tuple[str, ...]:
        """Return the scopes of the open turns."""
        return tuple(sorted({self.turns[number]["scope"] for number in self.open_turns}))

    @cached_property
    def tokens(self) -> list[tuple[int, str, str]]:
        """Return number and scope of a turn for each token that it has or had, with the token."""
        return [
            (number, turn["scope"], token)
            for number, turn in self.turns.items()
            for token in (turn.get("token"), *turn.get("former", "").split())
            if token is not None
        ]

    @cached_property
    def granted(self) -> frozenset[str]:
        """Return the tokens of the turns with an open grant."""
        return frozenset(turn["token"] for turn in self.turns.values() if turn["status"] in _GRANTED)

    @cached_property
    def input_tokens(self) -> int:
        """Return the tokens that are booked."""
        return self.count("input_tokens")

    @cached_property
    def reserved(self) -> int:
        """Return the tokens that the turns reserve."""
        return sum(turn.get("reserved_tokens", 0) for turn in self.turns.values())

    @cached_property
    def closed_turns(self) -> list[int]:
        """Return the numbers of the closed turns that no plan has consumed."""
        return [n for n, turn in self.turns.items() if turn["status"] == "closed"]

    def count(self, field: str) -> int:
        """Return a counter of the session."""
        return int(self.session.get(field, 0))

    def without_lock(self, scope: str) -> Store:
        """Return the store after the lease of a scope has expired."""
        store = self._unlocked.get(scope)
        if store is None:
            locks = {name: token for name, token in self.locks.items() if name != scope}
            store = self._unlocked[scope] = Store(_dump({**self._parts, "locks": locks}))
        return store

    @cached_property
    def _unlocked(self) -> dict[str, Store]:
        return {}


def canonical_store(
    session: Mapping[str, str],
    turns: Mapping[str, str],
    dialog: Sequence[tuple[str, Mapping[str, str]]],
    locks: Mapping[str, str],
    *,
    now_ms: int,
) -> Store:
    """Return the store of raw keys that a script has left at `now_ms`."""
    places = {entry: f"{index}-0" for index, (entry, _) in enumerate(dialog, 1)}
    return Store(
        _dump(
            {
                "session": {k: _field(k, v, now_ms) for k, v in session.items() if k not in _IGNORED_FIELDS},
                "turns": {name: _turn_field(name, text, now_ms, places) for name, text in turns.items()},
                "dialog": [fields["m"] for _, fields in dialog],
                "locks": {scope: value.partition("|")[0] for scope, value in locks.items()},
            }
        )
    )


def _field(name: str, value: str, now_ms: int) -> str:
    if name.endswith("_ms"):
        return str(_shifted(int(float(value)), now_ms))
    if name in _SATURATED:
        return str(min(int(value), 1))
    return _dump(json.loads(value)) if name.startswith("spent:") else value


def _turn_field(name: str, text: str, now_ms: int, places: Mapping[str, str]) -> str:
    if ":" in name:
        return _dump(json.loads(text)) if name.endswith(":held") else text
    record = {}
    for key, value in json.loads(text).items():
        if key in _IGNORED_IN_RECORDS:
            continue
        if key == "swept_ms":
            record[key] = PAST_MS  # only delays the next send, like the saturated counters
        elif key.endswith("_ms") or key == "not_before":
            record[key] = _shifted(value, now_ms)
        elif key in _SATURATED:
            record[key] = min(value, 1)
        else:
            record[key] = places.get(value, value) if key == "until_id" else value
    return _dump(record)


def _shifted(at_ms: int, now_ms: int) -> int:
    if at_ms == 0:
        return 0
    return NOW_MS + at_ms - now_ms if at_ms > now_ms else PAST_MS


def _dump(value: object) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))
