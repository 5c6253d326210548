"""Write of new sessions, with their entries in the indexes, in two round trips (in a cluster: in four or five).

The keys of a session and the indexes are in different slots, so no script can write all of them. The order decides what a
crash or an error leaves behind: index entries without a session, which the sweep removes, but never a session that the
sweep does not find. So a session is opened after its entries have been written.
"""

from __future__ import annotations

from collections.abc import Sequence

from redis import Redis

from ...models.protocol.collab import CollabStatus
from ..redis.scripts import run_in_order
from .index import SessionIndex, listed_times
from .live_sessions import adding_command
from .records import ScriptAnswer, SessionState, read_answer
from .requests import Opening
from .store import opening_calls

#: Milliseconds after a session is added to the index, in which readers do not report it as missing.
_SOON_MS = 60_000


def open_sessions(
    client: Redis, openings: Sequence[tuple[Opening, int]], *, archive_in_ms: int | None
) -> list[ScriptAnswer]:
    """Create sessions with different ids; return `opened`, `exists` or `conflict` for each.

    Args:
        client: Client that decodes responses.
        openings: The sessions, each with the milliseconds until its first check.
        archive_in_ms: Milliseconds until they are archived for the first time; None: they are not archived.

    Raises:
        RedisUnavailable: Some of them may have been created. The call may be repeated.
    """
    index = SessionIndex(client)
    first_check_ms = {opening.collab.collab_id: delay_ms for opening, delay_ms in openings}
    opened = [opening for opening, _ in openings]
    counted = [opening for opening in opened if not opening.draft]
    entries = [[call] for call in index.adding_calls(first_check_ms, archive_in_ms=archive_in_ms)]
    entered_ms = listed_times(first_check_ms, run_in_order(client, entries)[0][0])
    counting = [adding_command(opening.collab.collab_id, opening.collab.mode) for opening in counted]
    created, added = run_in_order(client, [opening_calls(opened), counting])
    answers = {
        opening.collab.collab_id: read_answer(opening.collab.collab_id, raw)
        for opening, raw in zip(opened, created, strict=True)
    }
    for opening, was_added in zip(counted, added, strict=True):
        session_id = opening.collab.collab_id
        if was_added and not _is_unfinished(answers[session_id].state):
            index.live.remove(session_id)
    for session_id, answer in answers.items():
        state = answer.state
        if state and state.opened_ms - entered_ms[session_id] > _SOON_MS:
            # After such a delay, or with a reused id, readers may have removed its entries as those of an
            # expired session.
            index.add_session(session_id, look_in_ms=first_check_ms[session_id], archive_in_ms=archive_in_ms)
            index.list_session(session_id, state.opened_ms)
    return list(answers.values())


def _is_unfinished(state: SessionState | None) -> bool:
    return state is not None and not state.is_final and state.status is not CollabStatus.DRAFT
