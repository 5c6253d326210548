"""Work of incoming hooks in Redis: reviews and comments, by the time of their next start. The client must decode responses.

All keys are in one slot. Pushes of one hook are one entry, whatever their number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Self, cast

from .redis.due_index import DueIndex
from .redis.keys import HOOK_QUEUE, hook_key
from .redis.readers import server_ms
from .redis.scripts import ScriptValue, call_script

#: Maximum number of entries.
MAX_QUEUED = 1_000
#: Milliseconds for which work is queued, and for which the ids and digests of received events are kept.
TTL_MS, SEEN_MS = 86_400_000, 7 * 86_400_000


@dataclass(frozen=True, slots=True)
class HookWork:
    """What is to be done for a hook: a review of its pull requests, or an answer to a comment."""

    kind: Literal["review", "comment"]
    hook: str
    #: Digest of the comment's event; empty: a review.
    event: str = ""

    @classmethod
    def parse(cls, member: str) -> Self | None:
        """Return the work of an entry; None: another program wrote it."""
        kind, _, rest = member.partition("|")
        hook, _, event = rest.partition("|")
        if kind not in ("review", "comment") or not hook:
            return None
        return cls("review" if kind == "review" else "comment", hook, event)

    @property
    def member(self) -> str:
        """The entry in the queue."""
        return "|".join(filter(None, (self.kind, self.hook, self.event)))


class HookQueue(DueIndex):
    """Work of hooks. All methods raise RedisUnavailable."""

    KEY = HOOK_QUEUE

    def receive(self, work: HookWork, data: str, *, seen: Sequence[str]) -> str:
        """Queue work; return `queued`, `repeated` or `full`. `seen`: the ids under which the event is remembered."""
        keys = [HOOK_QUEUE, hook_key("event", work.event), *(hook_key("seen", one) for one in seen)]
        args: dict[str, ScriptValue] = {
            "member": work.member,
            "data": data,
            "most": MAX_QUEUED,
            "ttl_ms": TTL_MS,
            "seen_ms": SEEN_MS,
        }
        return str(call_script(self._client, "hooks/receive", keys, args)[0])

    def add_now(self, work: HookWork) -> None:
        """Make work due now that follows from other work."""
        self.postpone(work, 0)

    def postpone(self, work: HookWork, in_ms: int) -> None:
        """Set the time of the next start, in milliseconds from now."""
        self._client.zadd(HOOK_QUEUE, {work.member: server_ms(self._client) + in_ms})
        self._client.pexpire(HOOK_QUEUE, TTL_MS)

    def data(self, work: HookWork) -> str | None:
        """Return the event of a comment as JSON; None: it has expired."""
        return cast("str | None", self._client.get(hook_key("event", work.event)))

    def finish(self, work: HookWork, claimed: float) -> None:
        """Remove work that is done, unless it became due again since it was claimed (`time_of`)."""
        self.drop(work.member, claimed)
        if work.event:
            self._client.delete(hook_key("event", work.event))
