"""All Redis keys of Symposia, with the functions that build them.

A session's keys share the hash tag `{collab_id}`, so that a session lives in one cluster
slot and one script may use all of them. The keys of an unfinished session have no TTL; the script
that ends the session sets one. Keys of a turn have a TTL from the start. Index keys and the keys of
schedules have no TTL; they exist until they are removed.

| key | type | holds |
|---|---|---|
| `symposia:{id}:session` | hash | status, counters, collab, spec, planner and stop state |
| `symposia:{id}:dialog` | stream | messages (field `m`) |
| `symposia:{id}:events` | stream | MAP events (field `e`) |
| `symposia:{id}:journal` | stream | embedded events, for facts without a MAP event type (field `e`) |
| `symposia:{id}:turns` | hash | open turns, and closed ones until a plan consumes them |
| `symposia:{id}:board` | hash | work items of a swarm; `ID:message`: place of an item's result in the dialog |
| `symposia:{id}:attachments` | hash | bytes of the session's attachments by digest, and their size (`bytes`); TTL one hour before the session is opened |
| `symposia:{id}:spare` | stream | copy of another stream; exists only while a script compacts it |
| `symposia:{id}:lock:<scope>` | string | `token|deadline_ms`; its TTL is the lease |
| `symposia:{id}:deltas` | stream | live text of running turns (field `d`); capped, TTL ten minutes |
| `symposia:{id}:tools` | stream | tool events of running turns (field `t`); capped, TTL ten minutes |
| `symposia:{id}:listening` | string | exists while a reader of live text is connected; TTL one minute |
| `symposia:{id}:note:<participant>` | string | note of a participant's agent, kept from turn to turn; TTL one week |
| `symposia:{id}:unstored` | hash | results of turns whose statements the dialog memory does not have yet, by turn number; TTL one week |
| `symposia:{id}:noted:<turn>` | string | turn whose notes are being stored in the long-term memory, or are stored; TTL one day |
| `symposia:{id}:parsed:<opened_ms>` | string | parameters read from the sentence of a session; TTL one week |
| `symposia:{id}:step` | hash | step of a Celery canvas whose result is that of the session; TTL `retention_s` when it is over |
| `symposia:{id}:notices` | hash | notices about questions to people, with their progress; TTL one day after the deadline of the question |
| `symposia:{id}:calls:<turn>` | hash | finished calls of a turn that is not written yet; TTL one day |
| `symposia:{id}:recorded` | hash | records of written turns that are not archived yet, by token, in a session that records its calls; TTL `retention_s` after the newest record |
| `symposia:{tenant:NAME}:books` | hash | usage of a tenant today, and its reservations; TTL two days |
| `symposia:{tenant:NAME}:expiries` | sorted set | reservations of a tenant, by expiry time; TTL two days |
| `symposia:rate:MODEL` | hash | requests and tokens of a model in each of the last seconds; TTL three minutes |
| `symposia:{review:ID}:batch` | hash | state, limits and usage of a batch review; TTL of all its keys: `retention_s` |
| `symposia:{review:ID}:items` | hash | items of the batch: definition, state and result of each |
| `symposia:{review:ID}:waiting` | sorted set | numbers of the items that have not started |
| `symposia:{review:ID}:running` | sorted set | numbers of the running items, by the time of their next check |
| `symposia:{review:ID}:starter` | string | number of the newest starter of the batch; TTL one hour before the start |
| `symposia:{review:ID}:text:N` | string | text of an item whose session has not been opened |
| `symposia:{review:ID}:files` | hash | files that models may read, compressed, by path |
| `symposia:{review:ID}:reads:N` | hash | files that were read for an item: path and digest |
| `symposia:notices:AGENT` | stream | notifications of an agent about its tasks and conversations (field `n`); capped, TTL one week |
| `symposia:batch:ID` | set | turns (`session|turn`) that wait for a provider's batch; TTL three days |
| `symposia:due` | sorted set | unfinished sessions, by the time of the next sweep |
| `symposia:owed` | sorted set | archive queue: sessions with pending archive writes, by the time of the next attempt |
| `symposia:sessions` | sorted set | sessions, by opening time; before a session is opened, by the time it was listed |
| `symposia:reviews` | sorted set | batch reviews, by start time |
| `symposia:reviews:due` | sorted set | unfinished batch reviews, by the time of the next check by the sweep |
| `symposia:once:<task>:<retries>[:<replacements>]` | string | copy of a message after a step that runs, or has run; TTL one lease, or one day |
| `symposia:request:DIGEST` | string | id of the session that a request of a client has begun; TTL one day |
| `symposia:steps` | sorted set | steps of Celery canvases that are not over, and ended sessions with `on_end`, by the time of the next check |
| `symposia:deliveries` | sorted set | delivery queue: reports to deliver, by the time of the next attempt; capped |
| `symposia:deliveries:failed` | list | newest deliveries that failed permanently; capped, TTL one week |
| `symposia:{webhooks}:queue` | sorted set | queued deliveries of webhooks, by the time of the next attempt; capped, TTL one week |
| `symposia:{webhooks}:deliveries` | sorted set | listed deliveries, by the time of their event; capped, TTL one week |
| `symposia:{webhooks}:delivery:ID` | hash | a delivery: webhook, event, body, state, attempts; TTL one week |
| `symposia:{hooks}:queue` | sorted set | work of incoming hooks (`review|HOOK`, `comment|HOOK|EVENT`), by the time of its next start; capped, TTL one day |
| `symposia:{hooks}:event:EVENT` | string | a comment that a hook received, as JSON; TTL one day |
| `symposia:{hooks}:seen:DIGEST` | string | exists if a hook has received this event; TTL one week |
| `symposia:reviews:decisions` | hash | decisions of people about findings, by id: see `reviews/state/decisions.py`; capped |
| `symposia:reviews:reply:DIGEST` | string | token of the call that answers a comment on a pull request; TTL one hour |
| `symposia:inbox` | sorted set | open questions to people (`session|turn|name`), by the time they were asked |
| `symposia:notices-due` | sorted set | sessions with questions to people who have an address, by the time of the next check of their notices; TTL one year |
| `symposia:notified:PERSON:HOUR` | string | number of notices to a person in an hour; TTL two hours |
| `symposia:claim:DIGEST` | string | value of a claim: what follows in the thread of another system, or the question that its message answers; TTL `retention_s` after the newest change |
| `symposia:taken` | hash | progress of the workers in the queue: newest message taken, last time a worker was free, newest probe; TTL one hour |
| `symposia:lanes` | hash | lanes of active tenants, by tenant: see `state/tenant_lanes.py`; TTL one minute |
| `symposia:{tokens}:token:ID` | hash | a token of a caller over HTTP: digest of its secret, name, tenant, scopes; expires with the token |
| `symposia:{tokens}:index` | sorted set | ids of tokens, by their expiry time; capped, expires with the last token |
| `symposia:workers` | hash | last announcement of each worker: time and agent names |
| `symposia:{workers}:leases` | sorted set | processes of workers, by the end of their lease; 0: the process was seen to end; TTL one day |
| `symposia:{workers}:sessions:PROCESS` | set | sessions that a process of a worker works on; TTL one day |
| `symposia:{workers}:lost` | sorted set | lost processes whose turns are not taken over yet, by the end of the claim of the worker that does it; TTL one day |
| `symposia:{workers}:checks` | hash | time of the newest check for lost processes; TTL one day |
| `symposia:awaited` | sorted set | agents that no worker can run, by the time of the newest check of a turn that waits for them; TTL one hour |
| `symposia:awaited:AGENT` | sorted set | sessions with a turn that waits for this agent, by the time of its newest check; TTL one hour |
| `symposia:{schedules}:schedule:NAME` | hash | a schedule: see `schedules/store.py` |
| `symposia:{schedules}:queue:NAME` | list | runs of a schedule that wait for the running one |
| `symposia:{schedules}:history:NAME` | list | records of a schedule's runs, newest first; capped |
| `symposia:{schedules}:beat` | sorted set | keys of schedules, by the time at which a beat sends their messages |
| `symposia:{schedules}:look` | sorted set | names of schedules, by the time at which a worker checks them |
| `symposia:{schedules}:beats` | hash | running beats, with the time of their last announcement |
| `symposia:{metrics}:live` | sorted set | unfinished sessions, in the slot of the counters; the score encodes mode and status: see `state/sessions/live_sessions.py` |
| `symposia:stuck` | sorted set | sessions without progress (`reason|session`), by the time at which the entry is outdated; TTL one hour |
| `symposia:{metrics}:counts` | hash | counters for monitoring: see `state/metrics.py` |
| `symposia:{metrics}:batch:ID` | string | number of the newest batch of counts of one process; TTL one hour |
| `symposia:memory` | hash | counters of events in dialog memories, such as `corrupt`; TTL 30 days |
| `symposia:notes` | hash | notes of turns that the long-term memory does not have yet, by `session:opened_ms:turn`; TTL one week |

The memory of a user is kept longer than sessions, under separate keys. All of them expire.

| key | type | holds |
|---|---|---|
| `dialog:{user_id}:{room_id}` | string | the dialog memory of a user in a room, as JSON (the braces are not part of it, unless `hash_tag`) |
| `dialog-shared:{user_id}` | string | parameters that the user shares with other rooms, as JSON |
"""

from __future__ import annotations

from hashlib import sha256

PREFIX = "symposia"
DUE = f"{PREFIX}:due"
ARCHIVE_QUEUE = f"{PREFIX}:owed"
STEPS = f"{PREFIX}:steps"
SESSIONS = f"{PREFIX}:sessions"
INBOX = f"{PREFIX}:inbox"
NOTICES_DUE = f"{PREFIX}:notices-due"
QUEUE_PROGRESS = f"{PREFIX}:taken"
TENANT_LANES = f"{PREFIX}:lanes"
WORKERS = f"{PREFIX}:workers"
AWAITED = f"{PREFIX}:awaited"
REVIEWS = f"{PREFIX}:reviews"
REVIEWS_DUE = f"{PREFIX}:reviews:due"
DELIVERIES = f"{PREFIX}:deliveries"
FAILED_DELIVERIES = f"{PREFIX}:deliveries:failed"
DECISIONS = f"{PREFIX}:reviews:decisions"
WEBHOOK_WAITING = f"{PREFIX}:{{webhooks}}:waiting"
WEBHOOK_DELIVERIES = f"{PREFIX}:{{webhooks}}:deliveries"
HOOK_QUEUE = f"{PREFIX}:{{hooks}}:queue"
MEMORY_COUNTS = f"{PREFIX}:memory"
PENDING_NOTES = f"{PREFIX}:notes"
LIVE = f"{PREFIX}:{{metrics}}:live"
STUCK = f"{PREFIX}:stuck"
METRICS = f"{PREFIX}:{{metrics}}:counts"
#: Schedules share one cluster slot, because RedBeat uses several keys at once.
SCHEDULES = f"{PREFIX}:{{schedules}}:"
SCHEDULES_BEAT = f"{SCHEDULES}beat"
SCHEDULES_LOOK = f"{SCHEDULES}look"
BEATS = f"{SCHEDULES}beats"
#: Tokens share one cluster slot with their index.
TOKENS = f"{PREFIX}:{{tokens}}:"
TOKEN_INDEX = f"{TOKENS}index"

#: Index keys and counters without a TTL.
PERMANENT = frozenset(
    {DUE, ARCHIVE_QUEUE, SESSIONS, INBOX, WORKERS, REVIEWS, REVIEWS_DUE, DELIVERIES, DECISIONS, LIVE, METRICS}
)

#: Names a script header may use for a session's keys.
SESSION_PARTS = ("session", "dialog", "events", "journal", "turns", "board", "attachments")


def worker_lease_key(part: str) -> str:
    """Return the key of one part of the leases of workers: `leases`, `lost`, `checks`, `sessions:PROCESS`."""
    return f"{PREFIX}:{{workers}}:{part}"


def session_key(session_id: str, part: str) -> str:
    """Return the key of one part of a session, e.g. `symposia:{...}:dialog`."""
    return f"{PREFIX}:{{{session_id}}}:{part}"


def batch_members_key(batch_id: str) -> str:
    """Return the key of the turns that wait for a provider's batch."""
    return f"{PREFIX}:batch:{batch_id}"


def once_key(message: str) -> str:
    """Return the key of the copy of a message that runs, or has run."""
    return f"{PREFIX}:once:{message}"


def request_key(digest: str) -> str:
    """Return the key of the session that a request of a client has begun."""
    return f"{PREFIX}:request:{digest}"


def claim_key(name: str) -> str:
    """Return the key of a claim; its name may be any text."""
    return f"{PREFIX}:claim:{sha256(name.encode()).hexdigest()}"


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


def unstored_key(session_id: str) -> str:
    """Return the key of what a session learned and its user's memory does not have yet."""
    return session_key(session_id, "unstored")


def noted_key(session_id: str, number: int) -> str:
    """Return the key that says who stores the notes of a turn in the long-term memory, or that they are stored."""
    return session_key(session_id, f"noted:{number}")


def parsed_key(session_id: str, opened_ms: int) -> str:
    """Return the key of the parameters read from the sentence of a session; its id may be used again."""
    return session_key(session_id, f"parsed:{opened_ms}")


def recorded_key(session_id: str) -> str:
    """Return the key of the records of turns that are not archived yet."""
    return session_key(session_id, "recorded")


def attachments_key(session_id: str) -> str:
    """Return the key of the attachments of a session."""
    return session_key(session_id, "attachments")


def tenant_keys(tenant: str) -> list[str]:
    """Return the keys of a tenant: its accounts, and the expiry times of its reservations."""
    return [f"{PREFIX}:{{tenant:{tenant}}}:{part}" for part in ("books", "expiries")]


def awaited_key(agent: str) -> str:
    """Return the key of the sessions that wait for a worker with an agent."""
    return f"{AWAITED}:{agent}"


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
    """Return the key of one part of a batch review: `batch`, `items`, `waiting`, `running`, `text:N`, ..."""
    return f"{PREFIX}:{{review:{batch_id}}}:{part}"


def reply_key(repository: str, comment_id: str) -> str:
    """Return the key of the answer to a comment in a repository, by its web address."""
    digest = sha256(f"{repository} {comment_id}".encode()).hexdigest()[:32]
    return f"{PREFIX}:reviews:reply:{digest}"


def token_key(token_id: str) -> str:
    """Return the key of a token of a caller."""
    return f"{TOKENS}token:{token_id}"


def webhook_delivery_key(delivery_id: str) -> str:
    """Return the key of the record of a delivery to a webhook."""
    return f"{PREFIX}:{{webhooks}}:delivery:{delivery_id}"


def webhook_queue_key(webhook: str) -> str:
    """Return the key of the queue of a webhook."""
    return f"{PREFIX}:{{webhooks}}:queue:{webhook}"


def hook_key(part: str, name: str) -> str:
    """Return the key of what an incoming hook has received: `event` or `seen`."""
    return f"{PREFIX}:{{hooks}}:{part}:{name}"


def reviewed_pulls_key(schedule: str) -> str:
    """Return the key of the pull requests that a schedule has reviewed."""
    return f"{PREFIX}:reviews:pulls:{schedule}"


def notifications_key(agent: str) -> str:
    """Return the key of an agent's notifications."""
    return f"{PREFIX}:notices:{agent}"


def notified_key(person: str, hour: int) -> str:
    """Return the key of the number of notices to a person in one hour since the epoch."""
    return f"{PREFIX}:notified:{person}:{hour}"


def metrics_batch_key(sender: str) -> str:
    """Return the key of the newest batch of counts of one process."""
    return f"{PREFIX}:{{metrics}}:batch:{sender}"
