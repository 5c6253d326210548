"""Every Redis key of Symposia, built here and nowhere else.

A session's keys share the hash tag `{collab_id}`, so that a session lives in one cluster
slot and one script may touch all of it. While a session lives its keys are permanent;
when it ends the script that ends it gives them a TTL; keys of a turn have one from the start.
The index keys below are permanent, and the keys of schedules, until they are removed.

| key | type | holds |
|---|---|---|
| `symposia:{id}:session` | hash | status, counters, collab, spec, planner and stop state |
| `symposia:{id}:dialog` | stream | messages (field `m`) |
| `symposia:{id}:events` | stream | MAP events (field `e`) |
| `symposia:{id}:journal` | stream | embedded events: what MAP has no type for (field `e`) |
| `symposia:{id}:turns` | hash | open turns, and closed ones until a plan consumes them |
| `symposia:{id}:board` | hash | work items of a swarm |
| `symposia:{id}:lock:<scope>` | string | `token|deadline_ms`; its TTL is the lease |
| `symposia:{id}:deltas` | stream | what is being said right now (field `d`); capped, a TTL of ten minutes |
| `symposia:{id}:listening` | string | a listener is connected; a TTL of a minute |
| `symposia:{id}:note:<participant>` | string | what a participant's agent keeps from turn to turn; a TTL of a week |
| `symposia:{id}:calls:<turn>` | hash | finished calls of a turn that is not written yet; a TTL of a day |
| `symposia:{tenant:NAME}:books` | hash | what a tenant spent today and has set aside; a TTL of two days |
| `symposia:{tenant:NAME}:expiries` | sorted set | what is set aside, by the time it is given back; a TTL of two days |
| `symposia:rate:MODEL` | hash | what was asked of a model in each of the last seconds; a TTL of three minutes |
| `symposia:{review:ID}:batch` | hash | how far a batch review is, what it may spend and has spent; this and the next: a TTL of `retention_s` |
| `symposia:{review:ID}:items` | hash | its items: what each is, its state and what came of it |
| `symposia:{review:ID}:waiting` | sorted set | numbers of the items that have not begun |
| `symposia:{review:ID}:running` | sorted set | numbers of the running items, by the time of their next check |
| `symposia:{review:ID}:text:N` | string | the text of an item whose session has not been opened |
| `symposia:notices:AGENT` | stream | notifications of an agent about its tasks and conversations (field `n`); capped, a TTL of a week |
| `symposia:due` | sorted set | unfinished sessions by the time the sweep should look at them |
| `symposia:owed` | sorted set | sessions with entries that are not archived yet, by the time of the next attempt |
| `symposia:sessions` | sorted set | sessions by the time they were opened, or entered to be opened |
| `symposia:reviews` | sorted set | batch reviews by the time they were started |
| `symposia:reviews:due` | sorted set | unfinished batch reviews by the time the sweep should look at them |
| `symposia:errands` | sorted set | reports that are still to be delivered, by the time of the next try; capped |
| `symposia:errands:failed` | list | the newest deliveries that were given up; capped, a TTL of a week |
| `symposia:inbox` | sorted set | open questions to people, `session|turn|name`, by the time they were asked |
| `symposia:taken` | hash | how far the workers have come in the queue, when one was free, and the newest probe; a TTL of an hour |
| `symposia:workers` | hash | agent names each worker announces, with the time it did |
| `symposia:{schedules}:schedule:NAME` | hash | a schedule: see `state/schedule_store.py` |
| `symposia:{schedules}:queue:NAME` | list | occurrences of a schedule that wait for the one that runs |
| `symposia:{schedules}:history:NAME` | list | what came of a schedule's occurrences, newest first; capped |
| `symposia:{schedules}:beat` | sorted set | schedules' keys by the time at which a beat sends word of them |
| `symposia:{schedules}:look` | sorted set | schedules' names by the time at which a worker looks at them |
| `symposia:{schedules}:beats` | hash | the beats that run, with the time they last said so |
| `symposia:memory` | hash | how often what happened to dialog memories, such as `corrupt`; a TTL of 30 days |

The memory of a user outlives sessions, so it has keys of its own; all of them expire.

| key | type | holds |
|---|---|---|
| `dialog:{user_id}:{room_id}` | string | the dialog memory of a user in a room, as JSON (the braces are not part of it, unless `hash_tag`) |
| `dialog-shared:{user_id}` | string | what the user lets other rooms know, as JSON |
"""

from __future__ import annotations

PREFIX = "symposia"
DUE = f"{PREFIX}:due"
ARCHIVE_QUEUE = f"{PREFIX}:owed"
SESSIONS = f"{PREFIX}:sessions"
INBOX = f"{PREFIX}:inbox"
QUEUE_PROGRESS = f"{PREFIX}:taken"
WORKERS = f"{PREFIX}:workers"
REVIEWS = f"{PREFIX}:reviews"
REVIEWS_DUE = f"{PREFIX}:reviews:due"
DELIVERIES = f"{PREFIX}:errands"
FAILED_DELIVERIES = f"{PREFIX}:errands:failed"
MEMORY_COUNTS = f"{PREFIX}:memory"
#: Schedules share one cluster slot, because RedBeat uses several keys at once.
SCHEDULES = f"{PREFIX}:{{schedules}}:"
SCHEDULES_BEAT = f"{SCHEDULES}beat"
SCHEDULES_LOOK = f"{SCHEDULES}look"
BEATS = f"{SCHEDULES}beats"

#: Keys that never expire by themselves; all others expire after their session has ended.
PERMANENT = frozenset({DUE, ARCHIVE_QUEUE, SESSIONS, INBOX, WORKERS, REVIEWS, REVIEWS_DUE, DELIVERIES})

#: Names a script header may use for a session's keys.
SESSION_PARTS = ("session", "dialog", "events", "journal", "turns", "board")


def session_key(session_id: str, part: str) -> str:
    """Return the key of one part of a session, e.g. `symposia:{...}:dialog`."""
    return f"{PREFIX}:{{{session_id}}}:{part}"


def lock_key(session_id: str, scope: str) -> str:
    """Return the key of the lock of one scope of a session."""
    return session_key(session_id, f"lock:{scope}")


def memory_key(user: str, room: str, *, hash_tag: bool = False) -> str:
    """Return the key of a dialog memory; with `hash_tag` all memories of a user are in one cluster slot."""
    return f"dialog:{{{user}}}:{room}" if hash_tag else f"dialog:{user}:{room}"


def sharing_key(user: str, *, hash_tag: bool = False) -> str:
    """Return the key of the parameters that a user shares with other rooms."""
    return f"dialog-shared:{{{user}}}" if hash_tag else f"dialog-shared:{user}"


def calls_key(session_id: str, number: int) -> str:
    """Return the key of the finished calls of one turn."""
    return session_key(session_id, f"calls:{number}")


def tenant_keys(tenant: str) -> list[str]:
    """Return the keys of a tenant: its accounts, and the expiry times of its reservations."""
    return [f"{PREFIX}:{{tenant:{tenant}}}:{part}" for part in ("books", "expiries")]


def rate_key(model: str) -> str:
    """Return the key of a model's request rate."""
    return f"{PREFIX}:rate:{model}"


def schedule_keys(name: str) -> dict[str, str]:
    """Return the keys of one schedule, and the common keys of all, by their names in scripts."""
    return {
        **{part: f"{SCHEDULES}{part}:{name}" for part in ("queue", "history")},
        "entry": f"{SCHEDULES}schedule:{name}",
        "beat": SCHEDULES_BEAT,
        "look": SCHEDULES_LOOK,
    }


def review_key(batch_id: str, part: str) -> str:
    """Return the key of one part of a batch review: `batch`, `items`, `waiting`, `running` or `text:N`."""
    return f"{PREFIX}:{{review:{batch_id}}}:{part}"


def notifications_key(agent: str) -> str:
    """Return the key of an agent's notifications."""
    return f"{PREFIX}:notices:{agent}"
