"""The real scripts on a real server, as functions of a store.

The text of each script is unchanged. A prelude replaces the command `TIME` by the model's clock; a defect may be
planted in the text. A script is deterministic, so each call on each store runs once.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

from redis import Redis

from symposia.state.redis import scripts
from symposia.state.redis.keys import lock_key, session_key
from symposia.state.redis.scripts import Script, ScriptValue, load_script

from .store import LOCK_DEADLINE_MS, LONG_MS, NOW_MS, Store, canonical_store

SESSION_ID = "00000000-0000-4000-8000-000000000000"
PARTS = ("session", "dialog", "events", "journal", "turns", "board", "spare")

_CLOCK = """
local redis = setmetatable({ call = function(name, ...)
  if name == 'TIME' then return { %d, 0 } end
  return redis.call(name, ...)
end }, { __index = redis })
"""
#: The locks never expire by the server's clock: the expiry of a lease is a step of the model.
_RESTORE = """
for _, key in ipairs(KEYS) do redis.call('DEL', key) end
local store = cjson.decode(ARGV[1])
for name, value in pairs(store.session) do redis.call('HSET', KEYS[1], name, value) end
for i, message in ipairs(store.dialog) do redis.call('XADD', KEYS[2], i .. '-0', 'm', message) end
for name, value in pairs(store.turns) do redis.call('HSET', KEYS[5], name, value) end
for scope, token in pairs(store.locks) do
  redis.call('SET', ARGV[3] .. scope, token .. '|' .. ARGV[2], 'PX', 1000000000)
end
"""
_DUMP = """
local locks = {}
for i = 8, #KEYS do locks[#locks + 1] = redis.call('GET', KEYS[i]) or '' end
return { redis.call('HGETALL', KEYS[1]), redis.call('XRANGE', KEYS[2], '-', '+'),
  redis.call('XRANGE', KEYS[3], '-', '+'), redis.call('XRANGE', KEYS[4], '-', '+'),
  redis.call('HGETALL', KEYS[5]), locks }
"""


class Call(NamedTuple):
    """One call of a script: its verb, its arguments by name, and the scopes of its locks.

    `is_later`: a long time has passed since the last call.
    """

    verb: str
    args: tuple[tuple[str, ScriptValue], ...]
    scope: str | None = None
    scopes: tuple[str, ...] = ()
    rest: tuple[ScriptValue, ...] = ()
    is_later: bool = False


def make_call(verb: str, args: Mapping[str, ScriptValue], scope: str | None = None) -> Call:
    """Return a call without further locks and arguments."""
    return Call(verb, tuple(args.items()), scope)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a call answered, the store that it left, and the events that it recorded."""

    word: str
    extra: Any
    #: Whether a commit has granted the turn of its plan.
    has_grant: bool
    store: Store
    events: tuple[dict[str, Any], ...]
    journal: tuple[dict[str, Any], ...]


@contextmanager
def planted(verb: str | None, old: str = "", new: str = "") -> Iterator[None]:
    """Replace `old` by `new` in the source of one script while the block runs; None: nothing is replaced."""
    read = scripts._lua

    def changed(name: str) -> str:
        text = read(name)
        if name != verb:
            return text
        if text.count(old) != 1:
            raise ValueError(f"{verb}.lua contains {old!r} {text.count(old)} times, expected once")
        return text.replace(old, new)

    scripts._lua = changed
    load_script.cache_clear()
    try:
        yield
    finally:
        scripts._lua = read
        load_script.cache_clear()


class Server:
    """Runs calls on stores; `calls` counts those that a server has run."""

    def __init__(self, client: Redis, scopes: Iterable[str]) -> None:
        self._client = client
        self._scopes = tuple(scopes)
        locks = [lock_key(SESSION_ID, scope) for scope in self._scopes]
        self._keys = [*(session_key(SESSION_ID, part) for part in PARTS), *locks]
        self._known: dict[tuple[Store, Call], Outcome] = {}
        self._shas: dict[str, str] = {}

    @property
    def calls(self) -> int:
        """Return how many calls the server has run."""
        return len(self._known)

    def clear(self) -> None:
        """Delete the session from the server."""
        self._client.delete(*self._keys)

    def outcome(self, store: Store, call: Call) -> Outcome:
        """Return the outcome of a call that was run."""
        return self._known[store, call]

    def run(self, wanted: Iterable[tuple[Store, Call]]) -> None:
        """Run all calls that are not known yet, in one round trip."""
        new = [it for it in dict.fromkeys(wanted) if it not in self._known]
        if not new:
            return
        for text in (_RESTORE, _DUMP, *(self._text(call) for _, call in new)):
            if text not in self._shas:
                self._shas[text] = self._client.script_load(text)
        pipeline: Any = self._client.pipeline(transaction=False)
        for store, call in new:
            self._queue(pipeline, store, call)
        answers = pipeline.execute(raise_on_error=False)
        for i, (store, call) in enumerate(new):
            self._known[store, call] = self._read(call, answers[3 * i + 1], answers[3 * i + 2])

    def _text(self, call: Call) -> str:
        now_ms = NOW_MS + LONG_MS * call.is_later
        return _CLOCK % (now_ms // 1000) + load_script(call.verb).text

    def _queue(self, pipeline: Any, store: Store, call: Call) -> None:
        script: Script = load_script(call.verb)
        lock = None if call.scope is None else lock_key(SESSION_ID, call.scope)
        keys = script.key_list(SESSION_ID, lock, [lock_key(SESSION_ID, scope) for scope in call.scopes])
        args = script.arg_list(dict(call.args), call.rest)
        own = (store.text, LOCK_DEADLINE_MS + LONG_MS * call.is_later, lock_key(SESSION_ID, ""))
        pipeline.evalsha(self._shas[_RESTORE], len(self._keys), *self._keys, *own)
        pipeline.evalsha(self._shas[self._text(call)], len(keys), *keys, *args)
        pipeline.evalsha(self._shas[_DUMP], len(self._keys), *self._keys)

    def _read(self, call: Call, answer: list[Any] | Exception, dump: list[Any]) -> Outcome:
        if isinstance(dump, Exception):
            raise dump
        session, dialog, events, journal, turns, locks = dump
        store = canonical_store(
            _mapping(session),
            _mapping(turns),
            [(entry, _mapping(fields)) for entry, fields in dialog],
            {scope: value for scope, value in zip(self._scopes, locks, strict=True) if value},
            now_ms=NOW_MS + LONG_MS * call.is_later,
        )
        recorded = _entries(events), _entries(journal)
        if isinstance(answer, Exception):
            return Outcome(f"failed: {answer}", None, False, store, *recorded)
        return Outcome(answer[0], answer[4] if len(answer) > 4 else None, len(answer) > 6, store, *recorded)


def _mapping(flat: list[str]) -> Mapping[str, str]:
    return dict(zip(flat[::2], flat[1::2], strict=True))


def _entries(stream: list[Any]) -> tuple[dict[str, Any], ...]:
    return tuple(json.loads(fields[1]) for _, fields in stream)


def empty_store() -> Store:
    """Return the store before the session is opened."""
    return Store('{"dialog":[],"locks":{},"session":{},"turns":{}}')
