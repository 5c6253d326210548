"""Index of all sessions: by due time, for the sweep, and by opening time, for lists. Progress of the workers in the queue.

The list also shows whether a session that is not found has expired or is about to be opened.

Each index has its own slot, so no script can change it together with a session. The due index is therefore
a hint whose times are never too late: it contains a session from before its opening until after its end,
at a time no later than its next due action.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, cast

from redis import Redis

from ...models.metrics import SESSIONS_ENDED, reason_class, status_label
from ..metrics import count_field
from ..redis.due_index import CLAIM_FRACTION, DueIndex, add_or_renew, drop
from ..redis.keys import ARCHIVE_QUEUE, DUE, QUEUE_PROGRESS, SESSIONS, session_key
from ..redis.readers import server_ms
from ..redis.scripts import ScriptCall, ScriptValue, call_script, load_script, run_in_order
from .live_sessions import MAX_STUCK, LiveSessions

#: Maximum number of listed sessions; the newest are kept.
LISTED = 100_000
#: Age in milliseconds from which an entry without a session cannot belong to a session that is being opened.
ORPHAN_MS = 3_600_000


class SessionIndex(DueIndex):
    """Index of sessions, with the time of the sweep's next check of each."""

    KEY = DUE

    def __init__(self, client: Redis) -> None:
        super().__init__(client)
        #: Unfinished sessions by mode and status, for monitors.
        self.live = LiveSessions(client)

    def now_ms(self) -> int:
        """Return the server's time in milliseconds since the epoch."""
        return server_ms(self._client)

    def add_session(self, session_id: str, *, look_in_ms: int, archive_in_ms: int | None = None) -> int:
        """Add a session that is about to be opened; an existing entry keeps its earlier time.

        `archive_in_ms`: milliseconds until it is archived for the first time; None: it is not archived. Return when
        it was listed, in milliseconds since the epoch; 0: it was listed before.
        """
        return self.add_sessions({session_id: look_in_ms}, archive_in_ms=archive_in_ms)[session_id]

    def add_sessions(
        self, first_check_ms: Mapping[str, int], *, archive_in_ms: int | None = None
    ) -> dict[str, int]:
        """Add several sessions, as `add_session` does, in one round trip.

        `first_check_ms`: milliseconds until the first check, by session id. Return when each was listed.
        """
        calls = self.adding_calls(first_check_ms, archive_in_ms=archive_in_ms)
        answers = run_in_order(self._client, [[call] for call in calls])
        return listed_times(first_check_ms, answers[0][0])

    def adding_calls(
        self, first_check_ms: Mapping[str, int], *, archive_in_ms: int | None
    ) -> list[ScriptCall]:
        """Return the calls that add sessions, in their order; `listed_times` reads the answer of the first one."""
        # The list is written first, so that a reader that misses a session knows that it is about to be
        # opened.
        script = load_script("due_index/list")
        args = script.arg_list({"most": LISTED}, list(first_check_ms))
        calls = [ScriptCall(script, [SESSIONS], args, as_text=True), _enter_call(DUE, first_check_ms)]
        if archive_in_ms is not None:
            calls.append(_enter_call(ARCHIVE_QUEUE, dict.fromkeys(first_check_ms, archive_in_ms)))
        return calls

    def list_session(self, session_id: str, opened_ms: int) -> None:
        """List an existing session at its own opening time, if its id was listed before."""
        add_or_renew(self._client, SESSIONS, [session_id], opened_ms)

    def set_due_by(self, session_id: str, due_ms: int) -> None:
        """Schedule a check of the session at `due_ms` at the latest, unless the session is no longer in the index."""
        self._client.zadd(DUE, {session_id: due_ms}, lt=True, xx=True)

    def set_all_due_by(self, session_ids: Iterable[str], due_ms: int) -> None:
        """Schedule a check of several sessions, as `set_due_by` does, in one round trip."""
        self._client.zadd(DUE, dict.fromkeys(session_ids, due_ms), lt=True, xx=True)

    def archive_soon(self, session_id: str) -> None:
        """Make the archiving of a session due: it has changed, and may not be checked before long."""
        self._client.zadd(ARCHIVE_QUEUE, {session_id: 0}, xx=True, lt=True)

    def mark_ended(self, session_id: str) -> bool:
        """Make an ended session's entry in the archive queue due soon, count its end, and remove it from the sweep.

        The removal is the last step: if this process dies before it, the next sweep repeats all steps.

        Returns:
            True for one call per session: the one that removed it.
        """
        self.archive_soon(session_id)
        self._count_end(session_id)
        return self._client.zrem(DUE, session_id) == 1

    def mark_cancelled(self, session_id: str) -> None:
        """Make the archiving of a cancelled session due soon, and its next sweep, which marks it as ended."""
        self.set_due_by(session_id, self.now_ms())
        self.archive_soon(session_id)
        self._count_end(session_id)

    def _count_end(self, session_id: str) -> None:
        """Count the end of a session. Any number of callers may report the same end; it is counted once."""
        if (mode := self.live.mode_of(session_id)) is None:
            return
        values = self._client.hmget(session_key(session_id, "session"), "status", "reason")
        status, reason = cast("list[str | None]", values)
        if status is None:
            self.live.remove(session_id)
        else:
            labels = (mode, status_label(status), reason_class(reason or ""))
            self.live.count_end(session_id, count_field(SESSIONS_ENDED, *labels))

    def unfinished(self) -> int:
        """Return the number of sessions that have not ended."""
        return int(self._client.zcard(DUE))

    def count_unswept(self, *, before_ms: int) -> int:
        """Return the number of unfinished sessions whose check was due before that time.

        A cancelled session stays in the due index until its next sweep and is not counted. Beyond `MAX_STUCK`
        overdue entries, every entry is counted.
        """
        number = self.count_due(before_ms=before_ms)
        answer = self._client.zrangebyscore(DUE, 1, before_ms, start=0, num=MAX_STUCK)
        overdue = cast("list[str]", answer)
        return max(0, number - self.live.count_missing(overdue))

    def drop_orphan(self, session_id: str, table: DueIndex) -> None:
        """Remove a session that was not found from a sorted set of sessions, unless it may be about to be opened.

        The order of the reads matters: opening writes these keys in the opposite order. So in any
        interleaving one of the two reads, or the entry itself, shows a session that is being opened.
        """
        time, listed_ms = table.time_of(session_id), self._client.zscore(SESSIONS, session_id)
        if time is None or time % 1 != CLAIM_FRACTION or self._may_be_opened(listed_ms):
            return  # or a check was requested since the claim
        if not self._client.exists(session_key(session_id, "session")):
            table.drop(session_id, time)
            self.live.remove(session_id)

    def unlist(self, session_id: str, listed_ms: float) -> None:
        """Remove a session that was not found from the list, unless it may be about to be opened.

        `listed_ms`: its time in the list that was read, in milliseconds since the epoch.
        """
        if not self._may_be_opened(listed_ms):
            drop(self._client, SESSIONS, session_id, listed_ms)

    def iterate_listed(
        self, *, page_size: int = 100, before_ms: int | None = None
    ) -> Iterator[tuple[str, float]]:
        """Yield session ids with their times in the list, newest first; read page by page.

        `before_ms`: leave out those that were listed at this time or later; None: none.
        """
        until, seen = float("inf") if before_ms is None else before_ms - 1.0, set[str]()
        while page := self._page(until, page_size + len(seen), but=seen):
            yield from page
            last = page[-1][1]
            seen = {name for name, time in page if time == last} | (seen if last == until else set())
            until = last

    def _page(self, until: float, size: int, *, but: Container[str]) -> list[tuple[str, float]]:
        # Pages are read by time, not by rank: concurrent removals must not hide later entries.
        page = self._client.zrevrangebyscore(SESSIONS, until, "-inf", start=0, num=size, withscores=True)
        return [(name, time) for name, time in cast("list[tuple[str, float]]", page) if name not in but]

    def _may_be_opened(self, listed_ms: float | None) -> bool:
        return listed_ms is not None and self.now_ms() - listed_ms <= ORPHAN_MS


def _enter_call(key: str, delays_ms: Mapping[str, int]) -> ScriptCall:
    script = load_script("due_index/enter")
    entries: list[ScriptValue] = [value for entry in delays_ms.items() for value in entry]
    return ScriptCall(script, [key], script.arg_list({}, entries), as_text=True)


def listed_times(session_ids: Iterable[str], answer: Sequence[Any]) -> dict[str, int]:
    """Return when each session was listed, in milliseconds since the epoch; 0: it was listed before."""
    _, now_ms, before = answer
    return {session_id: 0 if session_id in before else now_ms for session_id in session_ids}


#: Header of a message with its sending time: milliseconds since the epoch, by the server's clock.
SENT_MS: Final = "symposia_sent_ms"
#: Milliseconds after which the progress of workers expires.
TTL_MS = 3_600_000
#: Maximum time in milliseconds; larger numbers are not a time, and scripts cannot read them.
_MAX_TIME_MS = 2**53


#: Field of `QUEUE_PROGRESS` with the time at which workers last took a newer message than before.
MOVED_FIELD: Final = "moved_ms"


def read_moved_ms(text: str | None) -> int:
    """Return the time in the field `MOVED_FIELD`; 0: there is none."""
    return int(text) if text is not None and text.isascii() and text.isdigit() else 0


class QueueProgress:
    """Sending time of the newest message taken from the queue. The client must decode responses."""

    def __init__(self, client: Redis) -> None:
        self._client = client
        self._newest_ms = 0
        #: The same for each queue.
        self._taken_ms: dict[str, int] = {}

    def record_taken(
        self, sent_ms: object, *, queues: Iterable[str] = ("",), among: Collection[str] = ("",)
    ) -> None:
        """Record that this process took a message sent at `sent_ms`; a value that is not a time is ignored.

        The progress is that of the queue with the least: others may be ahead of it.

        Args:
            sent_ms: Milliseconds since the epoch, by the server's clock.
            queues: The queue of the message, and those that were empty when it was taken.
            among: All queues whose progress counts.
        """
        if not isinstance(sent_ms, int) or not 0 < sent_ms < _MAX_TIME_MS:
            return
        for queue in queues:
            self._taken_ms[queue] = max(sent_ms, self._taken_ms.get(queue, 0))
        self._newest_ms = max(self._newest_ms, min(self._taken_ms.get(queue, 0) for queue in among))

    def publish(self, *, is_free: bool = False) -> int:
        """Publish the newest time of this process; return that of all processes, 0: none.

        `is_free`: this process is a worker that could run another task.

        Raises:
            RedisUnavailable: Redis does not answer.
        """
        reported_ms = self._newest_ms
        args = {"newest_ms": reported_ms, "is_free": int(is_free), "ttl_ms": TTL_MS}
        newest_ms: int = call_script(self._client, "queue/report_progress", [QUEUE_PROGRESS], args)[1]
        if (
            reported_ms > newest_ms
        ):  # the server's clock was set back: until it reaches the old time, each call would change the time
            self._newest_ms = newest_ms
            self._taken_ms.clear()
        return newest_ms

    def moved_ms(self) -> int:
        """Return when workers last took a newer message than before; 0: unknown.

        Raises:
            RedisUnavailable: Redis does not answer.
        """
        return read_moved_ms(cast("str | None", self._client.hget(QUEUE_PROGRESS, MOVED_FIELD)))

    def probe(self, *, grace_ms: int) -> int:
        """Request permission to send a message again as a probe.

        Return 0 if permitted, otherwise the milliseconds to wait.

        Raises:
            RedisUnavailable: Redis does not answer.
        """
        answer = call_script(
            self._client, "queue/request_probe", [QUEUE_PROGRESS], {"grace_ms": grace_ms, "ttl_ms": TTL_MS}
        )
        return 0 if answer[0] == "granted" else int(answer[1])
