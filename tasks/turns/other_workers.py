"""Turns and steps that this worker cannot run: they go to a worker that can, or wait for one.

An agent that this worker does not know is no attempt of the turn: before `begin`, its message is handed on to the queue
of a worker that can run the agent. If no running worker knows it, the turn waits, and the sweep checks it again once a
minute. A worker that starts with the agent finds the turn at once (`state/worker_routes.py`).

An agent that this worker knows but cannot run, because a package, a program or a variable is missing, is handed on, too.
If no other worker can run it, the turn fails here, with that reason.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from ...models.errors import NewerFormat
from ...state.sessions.records import SessionState
from ...state.sessions.turn_records import TurnRecord
from ...state.worker_routes import RECHECK_MS, AwaitedAgents
from ..runtime.graph import TurnCall
from ..runtime.runtime import Runtime
from .results import TurnEnd

log = logging.getLogger(__name__)

#: Milliseconds until a turn that a worker of an earlier release can run, which has no queue, is sent again to all.
_COMMON_QUEUE_DELAY_MS = 500
#: Milliseconds until a turn is sent again that was handed on to a worker whose agents have just changed.
_CHANGED_AGENTS_DELAY_MS = 2_000


def leave_to_other_worker(runtime: Runtime, call: TurnCall, agent: str) -> TurnEnd | None:
    """Hand a turn on if this worker cannot run its agent; if no worker knows it, let it wait.

    Returns:
        The end of this delivery; None: this worker runs the turn, or it needs no agent now.

    Raises:
        OperationalError: The broker does not answer; the sweep sends the turn again.
    """
    routes = runtime.graph.routes
    if routes is None or runtime.registry.can_run(agent):
        return None
    state = runtime.store.state(call.session)
    record = state.records.get(call.turn)
    if record is None or record.status not in ("planned", "speaking", "parked"):
        return None
    agent = record.agent or agent  # the turn may have been reassigned
    if runtime.registry.can_run(agent):
        return None
    is_known = runtime.registry.knows(agent)
    queue = routes.to_agent(agent, fresh=True)
    if queue and not call.handed_on:
        log.info("turn %s of %s: agent %s is on other workers, handed on", call.turn, call.session, agent)
        parent = record.parent or call.session
        runtime.graph.hand_on_turn(call, queue=queue, parent=parent, sent_ms=state.now_ms)
        return TurnEnd("handed-on")
    # A reminder or a deadline of a parked turn needs no agent.
    if record.status == "parked" or (is_known and not queue):
        return None
    if queue is None:
        return _await_agent(runtime, state, record, agent)
    delay_ms = _CHANGED_AGENTS_DELAY_MS if queue else _COMMON_QUEUE_DELAY_MS
    answer = runtime.store.defer(call.session, call.turn, delay_ms=delay_ms)
    if answer.due_ms is not None:
        runtime.index.set_due_by(call.session, answer.due_ms)
    return TurnEnd(answer.word)


def _await_agent(runtime: Runtime, state: SessionState, record: TurnRecord, agent: str) -> TurnEnd:
    session_id = state.session_id
    answer = runtime.store.await_agent(session_id, record, agent, delay_ms=RECHECK_MS)
    if answer.word != "deferred" or answer.due_ms is None:
        return TurnEnd("busy" if record.status == "speaking" else answer.word)
    AwaitedAgents(runtime.store.client).add(agent, session_id, now_ms=state.now_ms)
    runtime.index.set_due_by(session_id, answer.due_ms)
    if record.lacks is None:
        log.warning("no worker knows agent %s: turn %s of %s waits for one", agent, record.number, session_id)
    return TurnEnd("waits", f"waiting: no worker knows agent {agent}")


def check_awaited_agents(runtime: Runtime, state: SessionState, due: tuple[int, ...]) -> bool:
    """Check turns that wait for an agent, before the sweep sends those of them that are due.

    Returns:
        Whether a turn has changed: one whose agent is known now is due, any other waits again.
    """
    changed = False
    for record in state.open_turns():
        if record.lacks is None or (routes := runtime.graph.routes) is None:
            continue
        is_due = record.number in due
        # Before the turn is due, a worker that has just announced the agent has asked for this check.
        if routes.to_agent(record.lacks, fresh=not is_due) is not None:
            runtime.store.await_agent(state.session_id, record, None)
            changed = True
        elif is_due:
            _await_agent(runtime, state, record, record.lacks)
            changed = True
    return changed


def wake_awaiting_sessions(runtime: Runtime) -> None:
    """Make the sessions due that wait for an agent which this worker can run; called at each announcement."""
    awaited = AwaitedAgents(runtime.store.client)
    for agent in awaited.names():
        if runtime.registry.can_run(agent):
            for session_ids in awaited.take(agent):
                runtime.index.set_all_due_by(session_ids, 0)


def find_newer_worker(runtime: Runtime, error: NewerFormat) -> str:
    """Return the queue of a running worker that reads the format of a session; '': there is none."""
    routes = runtime.graph.routes
    return (routes.to_format(error.written) if routes is not None else None) or ""


def hand_on_newer(runtime: Runtime, error: NewerFormat, send: Callable[[str, int], None]) -> str:
    """Hand a message of a session in a newer format on to a worker that reads it; return the text for monitors.

    Args:
        runtime: The runtime of this process.
        error: The error of this worker.
        send: Sends the message to a queue; its arguments are the queue, and the time by the server's clock in
            milliseconds.

    Raises:
        NewerFormat: No running worker reads it: newer workers find the session when they start.
    """
    queue = find_newer_worker(runtime, error)
    if not queue:
        raise error
    log.info("%s; handed on to a newer worker", error)
    send(queue, runtime.index.now_ms())
    return "handed on to a worker of a newer version"
