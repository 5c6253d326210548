"""Dispatch of a step as Celery tasks: a group for parallel turns, one Celery task for a single turn.

Celery events of parked turns show who a Celery task waits for, and how the wait ended. The Celery task that parks a turn
ends, but its result comes later, perhaps from another process. Until then it has the state `AWAITING_HUMAN`,
`AWAITING_REMOTE` or `AWAITING_SESSION`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from ...models.errors import StateError, TurnFailed
from ...models.protocol.collab import CollabMode
from ...models.sessions.agent_queues import format_need
from ...models.sessions.priority import COMMON_SHARE, QueueShare, priority_queue
from ...models.text.ids import new_id
from ...models.turns.waiting import Awaits
from ...state.sessions.index import SENT_MS
from ...state.sessions.records import SessionState
from ...state.sessions.turn_records import TaskInfo, TurnRecord
from ...state.tenant_lanes import TenantLanes
from ...state.worker_routes import WorkerRoutes
from .lanes import lane_queue, preferred_lane, spread_lane
from .queues import TURN, queue_name, turn_route

if TYPE_CHECKING:
    from celery import Celery

    from ...patches.kept_tasks import KeptTask
    from ...patches.repeated_messages import RepeatedMessages


ADVANCE = "symposia.advance"
#: Header of a message that a worker has handed on to another one, which does not hand it on again.
HANDED_ON = "symposia_handed_on"
#: Lane of a task that is not sent yet; only the messages of kept tasks contain this header.
_LANE = "symposia_lane"


log = logging.getLogger(__name__)

#: Maximum seconds to connect to a broker after an outage.
_TIMEOUT_S = 2

#: For events: the broker may have closed an idle connection. Without a policy kombu would retry without limit.
_ONE_RETRY = {"max_retries": 1, "interval_start": 0, "interval_step": 0}


def broker_error() -> type[Exception]:
    """Return the exception that every transport raises when its broker is unavailable.

    Imported here: a process that only reads sessions needs no queue.
    """
    from kombu.exceptions import OperationalError

    return OperationalError


@contextmanager
def ignore_broker_outage(*session_ids: str) -> Iterator[None]:
    """Ignore a broker outage: it only delays sessions, because the sweep sends the messages later."""
    try:
        yield
    except broker_error() as error:
        others = f" and {len(session_ids) - 1} others" if len(session_ids) > 1 else ""
        log.warning(
            "broker unavailable, the sweep will dispatch session %s%s: %s", session_ids[0], others, error
        )


@dataclass(frozen=True, slots=True)
class TurnCall:
    """The turn that a Celery task runs: the whole content of its message."""

    session: str
    turn: int
    participant: str
    mode: CollabMode
    scope: str
    #: Name of the agent, which the message does not contain; empty: not known.
    agent: str = ""
    #: Whether another worker has handed the message on to this one.
    handed_on: bool = False
    #: Queue of the participant; empty: that of the agent.
    queue: str = ""

    #: Tenant and priority of the session, which the message does not contain.
    share: QueueShare = COMMON_SHARE

    @property
    def need(self) -> str:
        """What a worker must have to run the turn."""
        return format_need(self.agent, self.queue)

    def kwargs(self) -> dict[str, str | int]:
        """Return the task's keyword arguments."""
        return {
            "session": self.session,
            "turn": self.turn,
            "participant": self.participant,
            "mode": self.mode.value,
            "scope": self.scope,
        }

    def __str__(self) -> str:
        return f"session={self.session} mode={self.mode} turn={self.turn} participant={self.participant}"


class FirstStep(NamedTuple):
    """The first step of a session that was opened."""

    session: str
    #: When its message is sent, by the server's clock, in milliseconds.
    sent_ms: int
    share: QueueShare = COMMON_SHARE


def _address(app: Celery, queue: str) -> dict[str, Any]:
    """Return the options that send a message to a queue; '': the common one.

    A queue of some workers is not declared: it exists while they run.
    """
    from kombu import Exchange, Queue

    if not queue:
        return turn_route(app)
    return {"queue": Queue(queue, Exchange(""), routing_key=queue), "declare": []}


class TaskGraph:
    """Dispatch of turns and continuations of sessions to the queue. Raises kombu's OperationalError if it fails.

    `find_app`: returns the Celery app, and is called when a message is sent for the first time.
    `can_run`: returns whether this process can run a turn with that need; None: it runs no turns.
    `routes`: queues of other workers, for turns of agents that this process cannot run; None: there are no others.
    `weights`, `tenant_lanes`: numbers of lanes of tenants, default 1, and their lanes; None: as their names say.
    `is_fast`: returns whether the agent of that name probably answers at once.
    `sent_ms`: due time by the server's clock, in milliseconds; see `state/sessions/index.py`.
    """

    def __init__(
        self,
        find_app: Callable[[], Celery],
        *,
        can_run: Callable[[str], bool] | None = None,
        routes: WorkerRoutes | None = None,
        is_fast: Callable[[str], bool] = lambda _agent: False,
        weights: Mapping[str, int] = MappingProxyType({}),
        tenant_lanes: TenantLanes | None = None,
    ) -> None:
        self._find_app = find_app
        self._can_run = can_run
        self.routes = routes
        self._is_fast = is_fast
        self._weights = weights
        self._tenant_lanes = tenant_lanes
        self._repeated: RepeatedMessages | None = None
        #: True if sending failed, and the broker has not been reached since.
        self._is_broker_down = False

    @property
    def _app(self) -> Celery:
        return self._find_app()

    def check(self) -> None:
        """Raise kombu's OperationalError if the broker was unavailable for the last message, and still is."""
        if self._is_broker_down:
            with self._app.connection_for_write() as connection:
                connection.ensure_connection(max_retries=1, interval_start=0, timeout=_TIMEOUT_S)
            self._is_broker_down = False

    @contextmanager
    def _sending(self) -> Iterator[None]:
        try:
            yield
        except broker_error():
            self._is_broker_down = True
            raise
        self._is_broker_down = False

    def send_turns(self, calls: Sequence[TurnCall], *, parent: str, sent_ms: int) -> None:
        """Send turns that may run in parallel.

        A worker's thread may keep the first of them for itself, and further ones if all their agents are fast.
        """
        from ...patches.kept_tasks import keep_task  # imports Celery, as `broker_error` does

        group_id = new_id() if len(calls) > 1 else None
        sent: dict[str, list[tuple[KeptTask, tuple[KeptTask, ...]]]] = {}
        for index, call in enumerate(calls):
            group = {"group": group_id, "group_index": index} if group_id else {}
            task = self._task(call, {"parent_id": parent, SENT_MS: sent_ms} | group)
            # A turn for another worker must be sent, because it would be handed on here.
            is_own = self._can_run is not None and self._can_run(call.need)
            if not (is_own and keep_task(self._app, task)):
                sent.setdefault("" if is_own else self._route(call.need), []).append((task, ()))
        for queue, messages in sent.items():
            self._send(messages, queue=queue)

    def may_keep_next(self) -> bool:
        """Return whether the next turn, if it is only one, can run in this thread, at once and in any case."""
        from ...patches.kept_tasks import may_keep_next

        return self._can_run is not None and may_keep_next(self._app, TURN)

    def keep_next(self, call: TurnCall, *, task_id: str, parent: str, sent_ms: int) -> None:
        """Run a turn in this thread after the current one. Only after `may_keep_next`."""
        from ...patches.kept_tasks import keep_next

        keep_next(self._task(call, {"parent_id": parent, SENT_MS: sent_ms, "id": task_id}))

    def _lane(self, share: QueueShare, session: str) -> str:
        """Return the queue of a session that is not the common one; '': it is, or not every worker consumes lanes."""
        if share == COMMON_SHARE or self.routes is None or not (lanes := self.routes.count_lanes()):
            return ""
        queue, tenant = queue_name(self._app), share.tenant
        if tenant is not None:
            weight, first = self._weights.get(tenant, 1), preferred_lane(tenant, lanes)
            if self._tenant_lanes is not None:
                first = self._tenant_lanes.find(tenant, preferred=first, lanes=lanes, weight=weight)
            queue = lane_queue(queue, spread_lane(first, lanes, session=session, weight=weight))
        return priority_queue(queue, share.priority)

    def _route(self, need: str) -> str:
        """Return the queue of a worker that can run a turn with that need; '': the queue of all workers."""
        if self.routes is None or self._can_run is None:
            return ""
        try:
            return self.routes.to_agent(need) or ""
        except StateError:  # any worker may get the message, which then hands it on
            return ""

    def hand_on_turn(self, call: TurnCall, *, queue: str, parent: str, sent_ms: int) -> None:
        """Send a turn, which this worker cannot run, to the queue of workers that can."""
        headers = {"parent_id": parent, SENT_MS: sent_ms, HANDED_ON: True}
        self._send([(self._task(call, headers), ())], queue=queue)

    def _task(self, call: TurnCall, headers: dict[str, Any]) -> KeptTask:
        from ...patches.kept_tasks import KeptTask

        own = {"id": new_id(), "root_id": call.session, "kwargsrepr": str(call)}
        if lane := self._lane(call.share, call.session):
            own[_LANE] = lane
        return KeptTask(TURN, call.kwargs(), own | headers, is_short=self._is_fast(call.agent))

    def send_kept(self, bundles: Sequence[Sequence[KeptTask]]) -> None:
        """Send turns that a worker kept, a message for each bundle: see `patches/kept_tasks.py`."""
        self._send([(tasks[0], tasks[1:]) for tasks in bundles])

    def _send(self, messages: Sequence[tuple[KeptTask, Sequence[KeptTask]]], *, queue: str = "") -> None:
        """Send a message for each task; it may carry further ones. `queue`: '' is the queue of all workers."""
        from ...patches.kept_tasks import bundle_headers

        amqp, has_event = self._app.amqp, self._app.conf.task_send_sent_event
        with (
            self._sending(),
            self._app.producer_or_acquire() as producer,
            # Converts any exception of the transport to OperationalError.
            producer.connection._reraise_as_library_errors(),  # noqa: SLF001 - as in `send_task`
        ):
            # As `group(...).apply_async()` and `send_task` send them, without their route lookups, copies of
            # signatures and result promises, which take a tenth of the time of a turn.
            for task, others in messages:
                message = amqp.create_task_message(
                    task.headers["id"],
                    task.name,
                    kwargs=task.kwargs,
                    root_id=task.headers["root_id"],
                    parent_id=task.headers["parent_id"],
                    group_id=task.headers.get("group"),
                    group_index=task.headers.get("group_index"),
                    create_sent_event=has_event,
                    argsrepr="",
                    kwargsrepr=task.headers["kwargsrepr"],
                    ignore_result=True,
                )
                own = {name: task.headers[name] for name in (SENT_MS, HANDED_ON) if name in task.headers}
                headers = {**own, **bundle_headers(others)}
                to = queue or task.headers.get(_LANE, "")
                amqp.send_task_message(
                    producer, TURN, message, headers=headers, serializer="json", **_address(self._app, to)
                )

    def send_first_steps(self, steps: Iterable[FirstStep]) -> None:
        """Send the Celery tasks that plan the first steps of sessions, as `send_advance`, in few round trips."""
        from ...patches.repeated_messages import MessageIds, RepeatedMessages

        if self._repeated is None:
            self._repeated = RepeatedMessages()
        messages: dict[str, list[MessageIds]] = {}
        for step in steps:
            ids = MessageIds(step.session, step.sent_ms)
            messages.setdefault(self._lane(step.share, step.session), []).append(ids)
        for queue, same in messages.items():

            def send(producer: Any, ids: MessageIds, queue: str = queue) -> None:
                self._send_advance(
                    ids.id, sent_ms=ids.sent_ms, task_id=ids.id, queue=queue, producer=producer
                )

            with self._sending():
                if not self._repeated.send(self._app, queue, same, send):
                    for ids in same:
                        send(None, ids)

    def send_advance(
        self,
        session_id: str,
        *,
        sent_ms: int,
        first: bool = False,
        share: QueueShare = COMMON_SHARE,
    ) -> None:
        """Send the Celery task that plans the next step.

        The first one of a session has the session's id as its task id: it is the root of the graph.
        """
        self._send_advance(
            session_id,
            sent_ms=sent_ms,
            task_id=session_id if first else new_id(),
            queue=self._lane(share, session_id),
        )

    def hand_on_advance(self, session_id: str, *, queue: str, sent_ms: int) -> None:
        """Send that Celery task, which this worker cannot run, to the queue of workers that can."""
        self._send_advance(session_id, sent_ms=sent_ms, task_id=new_id(), queue=queue)

    def _send_advance(
        self, session_id: str, *, sent_ms: int, task_id: str, queue: str = "", producer: Any = None
    ) -> None:
        shown = f"session={session_id}"
        with self._sending():
            self._app.send_task(
                ADVANCE,
                kwargs={"session": session_id},
                task_id=task_id,
                root_id=session_id,
                parent_id=None if task_id == session_id else session_id,
                headers={SENT_MS: sent_ms},
                argsrepr="",
                kwargsrepr=shown,
                add_to_parent=False,
                ignore_result=True,
                serializer="json",
                producer=producer,
                **_address(self._app, queue),
            )

    def report(self, parked_by: TaskInfo, event: str, **fields: str) -> None:
        """Send an event about the Celery task that parked a turn, for monitors.

        Nothing is sent while the broker is unavailable, because the session does not depend on it.

        Args:
            parked_by: The Celery task.
            event: Type of the event, such as `task-succeeded`.
            fields: Fields of the event.
        """
        if self._is_broker_down or not parked_by.worker or not self._app.conf.worker_send_task_events:
            return
        # In the name of the worker that ran the Celery task: monitors list every sender as a worker.
        sent_events = getattr(self._app.amqp, "sent_events", None)  # of `OneClientMessages`
        named = {"uuid": parked_by.id, **fields}
        if sent_events is not None and sent_events.send_as_worker(parked_by.worker, event, named):
            return
        dispatcher = self._app.events.Dispatcher(hostname=parked_by.worker, enabled=False)
        try:
            with (
                self._app.producer_or_acquire() as producer,
                producer.connection._reraise_as_library_errors(),  # noqa: SLF001 - as in `send_task`
            ):
                dispatcher.publish(
                    event,
                    named,
                    producer,
                    retry=True,
                    retry_policy=_ONE_RETRY,
                )
        except broker_error() as error:
            log.debug("event %s of Celery task %s not sent: %s", event, parked_by.id, error)


def report_wait(graph: TaskGraph, task: TaskInfo, awaits: Awaits, summary: str) -> None:
    """Report that a Celery task has parked a turn."""
    # Celery's monitors derive the state from the name of the event.
    graph.report(task, f"task-{awaits}", result=repr(summary))


def report_wait_end(graph: TaskGraph, record: TurnRecord, summary: str, *, failed: bool = False) -> None:
    """Report how the wait of a parked turn ended.

    Args:
        graph: Connection to the broker.
        record: The turn, as it was parked.
        summary: How the wait ended; without dialog text.
        failed: The turn failed.
    """
    if record.parked_by is None:
        return
    if failed:
        graph.report(record.parked_by, "task-failed", exception=repr(TurnFailed(summary)), traceback="")
    else:
        graph.report(record.parked_by, "task-succeeded", result=repr(summary))


def report_dropped(graph: TaskGraph, state: SessionState, numbers: Iterable[int]) -> None:
    """Report of each of these turns that it waits no longer, if it was parked and is dropped now."""
    for number in numbers:
        record = state.records.get(number)
        if record is not None and record.status == "dropped" and record.parked_by is not None:
            # Not `task-revoked`: after a state of its own, Celery's monitors show only a success, a failure or
            # another state of its own.
            graph.report(record.parked_by, "task-cancelled", result=repr("no longer needed"))
