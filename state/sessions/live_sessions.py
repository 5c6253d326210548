"""What monitors read of many sessions: their numbers by mode and status, their states, and those without progress.

All are hints for people. No decision of a worker depends on them.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from math import inf
from typing import Any, cast
from zlib import crc32

from redis import Redis

from ...models.errors import CorruptSession, ScriptError
from ...models.metrics import MODES, OTHER, StuckReason, added_mode_labels, mode_label
from ...models.protocol.collab import CollabStatus
from ..redis.keys import LIVE, METRICS, STUCK, session_key
from ..redis.readers import is_wrong_type
from ..redis.scripts import call_script, run_in_order, view_fields
from .records import SessionState

log = logging.getLogger(__name__)

#: Seconds for which the entries of stuck sessions are kept if no worker adds any.
_STUCK_TTL_S = 3_600
#: Maximum number of stuck sessions that are read.
MAX_STUCK = 1_000


#: Each status with its direction of scores: the score of a session is the number of its mode, negative if the
#: session is suspended.
_SIGNS = {str(CollabStatus.ACTIVE): 1, str(CollabStatus.SUSPENDED): -1}


def _number(label: str) -> int:
    """Return the number of a mode: its place among the modes of the protocol, from 1, or a larger hash of its name.

    Processes that added modes in another order, or not at all, agree on the numbers.
    """
    labels = (*MODES, OTHER)
    return labels.index(label) + 1 if label in labels else len(labels) + 1 + crc32(label.encode())


def _score(mode: str, *, suspended: bool) -> int:
    return _number(mode_label(mode)) * (-1 if suspended else 1)


def _label(score: float) -> str:
    """Return the label of the mode of a score: `other` if this process did not add the mode."""
    labels = {_number(label): label for label in (*MODES, *added_mode_labels())}
    return labels.get(int(abs(score)), OTHER)


def adding_command(session_id: str, mode: str) -> tuple[str | int, ...]:
    """Return the command that adds a session that was opened; its answer is 1 if the session was not there."""
    return ("ZADD", LIVE, "NX", _score(mode, suspended=False), session_id)


class LiveSessions:
    """A sorted set of unfinished sessions, whose scores are counted in O(log n). The client must decode responses."""

    def __init__(self, client: Redis) -> None:
        self._client = client

    def add(self, session_id: str, mode: str) -> None:
        """Add a session that was opened."""
        run_in_order(self._client, [[adding_command(session_id, mode)]])

    def set_suspended(self, session_id: str, mode: str, *, suspended: bool) -> None:
        """Record that a session was suspended or resumed, unless it has ended."""
        self._client.zadd(LIVE, {session_id: _score(mode, suspended=suspended)}, xx=True)

    def remove(self, session_id: str) -> None:
        """Remove a session without counting its end."""
        self._client.zrem(LIVE, session_id)

    def mode_of(self, session_id: str) -> str | None:
        """Return the label of the mode of an unfinished session; None: its end was counted."""
        score = self._client.zscore(LIVE, session_id)
        return None if score is None else _label(score)

    def count_end(self, session_id: str, field: str) -> None:
        """Remove an ended session and count its end: exactly once, however often this is called.

        Args:
            session_id: The session.
            field: Field of the counter.

        Raises:
            RedisUnavailable: Repeat the call.
        """
        try:
            call_script(
                self._client, "metrics/count_end", [METRICS, LIVE], {"session": session_id, "counter": field}
            )
        except ScriptError as error:
            # Another program wrote to the counters: no session may fail for its count.
            log.warning("counting the end of session %s failed: %s", session_id, error)
            self.remove(session_id)

    def count_missing(self, session_ids: Sequence[str]) -> int:
        """Return how many of these sessions are not unfinished ones."""
        return self._client.zmscore(LIVE, list(session_ids)).count(None) if session_ids else 0

    def count(self) -> dict[tuple[str, ...], int]:
        """Return the numbers of sessions by label of the mode and status."""
        labels = (*MODES, *added_mode_labels())
        pipeline = self._client.pipeline(transaction=False)
        for sign in _SIGNS.values():
            pipeline.zcount(LIVE, *sorted((sign, sign * inf)))
            for score in (sign * _number(label) for label in labels):
                pipeline.zcount(LIVE, score, score)
        counted = iter(cast("list[int]", pipeline.execute()))
        counts: dict[tuple[str, ...], int] = {}
        for status in _SIGNS:
            total = next(counted)
            counts |= {(label, status): next(counted) for label in labels}
            # A session that starts between two commands is in one of the counts only.
            counts[OTHER, status] = max(total - sum(counts[label, status] for label in labels), 0)
        return counts


def stuck_reason(state: SessionState, *, after_ms: int, queue_moved_ms: int = 0) -> StuckReason | None:
    """Return why an active session has made no progress for `after_ms`; None: it makes progress, or waits for a person.

    A place in a queue that moves is progress.

    Args:
        state: The session; `now_ms` is the time of the judgement.
        after_ms: Milliseconds without a sign of life.
        queue_moved_ms: When workers last took a message from the queue; 0: unknown, or it does not count.
    """
    if state.status is not CollabStatus.ACTIVE or state.now_ms - state.updated_ms < after_ms:
        return None
    queued_s = queued_for_s(state)
    moves = state.now_ms - queue_moved_ms < after_ms and not state.awaited_agents
    if queued_s is not None and queued_s * 1000 >= after_ms and not moves:
        return StuckReason.QUEUED
    if any(turn.short is not None for turn in state.open_turns()):
        return StuckReason.BUDGET
    return None


class StuckSessions:
    """Sessions that a sweep found without progress, until a later sweep would have found them again."""

    def __init__(self, client: Redis) -> None:
        self._client = client

    def add(self, session_id: str, reason: StuckReason, *, now_ms: int, until_ms: int) -> None:
        """Record a session until `until_ms`, and remove outdated entries."""
        pipeline = self._client.pipeline(transaction=False)
        pipeline.zadd(STUCK, {f"{reason}|{session_id}": until_ms})
        pipeline.zremrangebyscore(STUCK, "-inf", now_ms)
        pipeline.expire(STUCK, _STUCK_TTL_S)
        pipeline.execute()

    def list_all(self, *, now_ms: int) -> list[tuple[StuckReason, str]]:
        """Return reasons and session ids, at most `MAX_STUCK`. An entry may be outdated: check the session."""
        answer = self._client.zrangebyscore(STUCK, now_ms, "+inf", start=0, num=MAX_STUCK)
        split = (member.partition("|") for member in cast("list[str]", answer))
        return [(StuckReason(reason), session_id) for reason, _, session_id in split]


def queued_for_s(state: SessionState) -> float | None:
    """Return the seconds for which the oldest queued work of a session has waited; None: nothing is queued.

    A turn that waits for a retry, for a person, or for tokens is not queued. The cost is O(open turns).
    """
    if state.status is not CollabStatus.ACTIVE:
        return None
    since = [ms for ms in _queued_since_ms(state) if ms <= state.now_ms]
    return (state.now_ms - min(since)) / 1000 if since else None


def _queued_since_ms(state: SessionState) -> list[int]:
    open_turns = state.open_turns()
    if open_turns:
        return [turn.queued_ms for turn in open_turns if turn.queued_ms is not None]
    # The next step waits for planning since the last turn closed, or since the session was opened or resumed.
    return [state.updated_ms]


#: Sessions per pipeline.
BATCH = 50


def read_states(
    client: Redis, session_ids: Sequence[str], *, now_ms: int
) -> Iterator[SessionState | CorruptSession | None]:
    """Yield the state of each session, in this order: one round trip (in a cluster: one per node) for `BATCH` sessions.

    Fields and turns of a session may be from two instants, so no decision of a worker may depend on them.

    Args:
        client: Client that decodes responses.
        session_ids: The sessions.
        now_ms: The time by the server's clock, in milliseconds since the epoch.

    Returns:
        The state; an error if a key has the wrong type; None if the session does not exist.

    Raises:
        RedisUnavailable: Redis does not answer.
    """
    for start in range(0, len(session_ids), BATCH):
        batch = session_ids[start : start + BATCH]
        pipeline = client.pipeline(transaction=False)
        for session_id in batch:
            pipeline.hmget(session_key(session_id, "session"), list(view_fields()))
            pipeline.hgetall(session_key(session_id, "turns"))
        answers = pipeline.execute(raise_on_error=False)
        for session_id, values, turns in zip(batch, answers[0::2], answers[1::2], strict=True):
            yield _state(session_id, now_ms, values, turns)


def _state(session_id: str, now_ms: int, values: Any, turns: Any) -> SessionState | CorruptSession | None:
    for part, answer in (("session", values), ("turns", turns)):
        if is_wrong_type(answer):
            return CorruptSession(session_id, part=part, detail="the key has another type")
        if isinstance(answer, Exception):
            raise answer
    fields: dict[str, str | None] = dict(zip(view_fields(), values, strict=True))
    return None if fields["status"] is None else SessionState(session_id, now_ms, fields, turns)
