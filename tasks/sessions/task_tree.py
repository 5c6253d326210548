"""The tree of a session's Celery tasks, read from its MAP events.

The root is the task that opened the session, whose id is the session's. Every grant of a
turn is a node: MAPTurnDispatched names the task that got the turn (`task_id`) and the one
that planned it (`parent_id`), MAPTurnCompleted the result. A turn that was granted more
than once (its worker was lost, its agent failed) has a node for each grant.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from pydantic import JsonValue

from ...models.errors import CorruptSession
from ...models.protocol.events import MapEvent, MAPEventType
from ...models.text.ids import ms_from_moment
from ...models.text.redact import excerpt


class GrantOutcome(StrEnum):
    """Result of a task's grant."""

    #: The grant has not ended yet.
    SPEAKING = "speaking"
    MESSAGE = "message"
    PASSED = "passed"
    SKIPPED = "skipped"
    FAILED = "failed"
    #: The lease expired: the worker was lost.
    EXPIRED = "expired"
    #: The turn was no longer needed.
    DROPPED = "dropped"
    CANCELLED = "cancelled"
    #: A person answered a question first: the agent continues.
    ASKED = "asked"
    #: No answer in time: another agent takes the turn.
    REASSIGNED = "reassigned"

    @property
    def is_lost(self) -> bool:
        """Return whether nothing of the grant was written: the turn was granted again, or given up."""
        return self in (
            GrantOutcome.FAILED,
            GrantOutcome.EXPIRED,
            GrantOutcome.DROPPED,
            GrantOutcome.CANCELLED,
        )


@dataclass(frozen=True, slots=True)
class GrantEnd:
    """End of one grant of a turn, from MAPTurnCompleted."""

    token_id: str
    turn: int
    participant: str
    outcome: GrantOutcome
    #: Input and output tokens.
    tokens: int
    #: Error of the failure, one line.
    error: str
    #: True if it failed and will be retried.
    retried: bool

    @classmethod
    def from_event(cls, event: MapEvent) -> GrantEnd:
        """Return the end that a MAPTurnCompleted event records.

        Raises:
            CorruptSession: Its outcome is missing or unknown.
        """
        payload = event.payload or {}
        result = payload.get("result")
        fields = result if isinstance(result, dict) else {}
        usage = fields.get("usage")
        spent = usage if isinstance(usage, dict) else {}
        return cls(
            token_id=_text(payload, "token_id"),
            turn=_number(payload, "turn_number"),
            participant=_text(payload, "participant_id"),
            outcome=_outcome(event.session_id, _text(fields, "outcome")),
            tokens=_number(spent, "input_tokens") + _number(spent, "output_tokens"),
            error=_text(fields, "error"),
            retried=fields.get("retried") is True,
        )

    @property
    def is_final(self) -> bool:
        """Return whether the turn has closed and will not be granted again."""
        if self.outcome is GrantOutcome.FAILED:
            return not self.retried
        return not (self.outcome.is_lost or self.outcome in (GrantOutcome.ASKED, GrantOutcome.REASSIGNED))


def _outcome(session_id: str, word: str) -> GrantOutcome:
    try:
        return GrantOutcome(word)
    except ValueError:
        detail = f"a turn has the unknown outcome {excerpt(word)!r}"
        raise CorruptSession(session_id, part="events", detail=detail) from None


@dataclass(frozen=True, slots=True)
class TaskNode:
    """One grant of one turn."""

    task_id: str
    parent_id: str
    turn: int
    participant: str
    #: Number of the grant, from 1.
    attempt: int
    outcome: GrantOutcome = GrantOutcome.SPEAKING
    tokens: int = 0
    #: Error of the failure, one line.
    error: str = ""


@dataclass(frozen=True, slots=True)
class TaskTree:
    """The tasks of a session."""

    session_id: str
    mode: str
    title: str
    #: End of the session, such as `completed: max_rounds`; empty while it runs.
    ending: str
    #: Nodes in the order of their grants: parents come before children.
    nodes: tuple[TaskNode, ...]

    def parent_of(self) -> list[int | None]:
        """Return for each node the index of the node that planned it; None: the root."""
        newest: dict[str, int] = {}
        parents: list[int | None] = []
        for index, node in enumerate(self.nodes):
            # The task that planned after a resume or a sweep has no node, so its turns are children of the
            # root.
            parents.append(newest.get(node.parent_id))
            newest[node.task_id] = index
        return parents

    def groups(self) -> list[list[int]]:
        """Return indices of nodes that were sent in parallel: several turns planned by one task."""
        planned: dict[tuple[str, int | None], list[int]] = {}
        for index, parent in enumerate(self.parent_of()):
            planned.setdefault((self.nodes[index].parent_id, parent), []).append(index)
        return [group for group in planned.values() if len({self.nodes[i].turn for i in group}) > 1]


@dataclass(slots=True)
class _Reader:
    """Tree under construction from the events read so far."""

    session_id: str = ""
    mode: str = ""
    title: str = ""
    ending: str = ""
    #: Nodes by the token of their grant.
    nodes: dict[str, TaskNode] = field(default_factory=dict)

    def take(self, event: MapEvent) -> None:
        """Process one event."""
        payload: Mapping[str, JsonValue] = event.payload or {}
        self.session_id = event.session_id
        match event.event_type:
            case MAPEventType.SESSION_STARTED:
                self.mode, self.title = _text(payload, "mode"), _text(payload, "title")
            case MAPEventType.TURN_DISPATCHED:
                self.nodes[_text(payload, "token_id")] = _node(payload)
            case MAPEventType.TURN_COMPLETED:
                self._close(GrantEnd.from_event(event))
            case MAPEventType.SESSION_COMPLETED:
                self.ending = f"{_text(payload, 'status')}: {_text(payload, 'reason')}"
            case _:
                pass

    def _close(self, end: GrantEnd) -> None:
        node = self.nodes.get(end.token_id)
        if node is not None:
            closed = replace(node, outcome=end.outcome, tokens=end.tokens, error=end.error)
            self.nodes[end.token_id] = closed


def last_spoken(newest_first: Iterable[MapEvent]) -> tuple[str, int] | None:
    """Return the speaker of the newest closed turn, and the time of its grant (milliseconds since the epoch).

    Dropped and cancelled turns and failed attempts do not count. None: there was none.
    """
    end: GrantEnd | None = None
    for event in newest_first:
        if end is None and event.event_type is MAPEventType.TURN_COMPLETED:
            closed = GrantEnd.from_event(event)
            end = closed if closed.is_final else None
        elif end is not None and _is_grant(event, end.token_id):
            return end.participant, ms_from_moment(event.timestamp)
    return None


def _is_grant(event: MapEvent, token_id: str) -> bool:
    is_dispatched = event.event_type is MAPEventType.TURN_DISPATCHED
    return is_dispatched and _text(event.payload or {}, "token_id") == token_id


def read_tree(events: Iterable[MapEvent]) -> TaskTree:
    """Return the tree of the given events. Events without task ids are skipped."""
    reader = _Reader()
    for event in events:
        reader.take(event)
    nodes = tuple(node for node in reader.nodes.values() if node.task_id)
    return TaskTree(reader.session_id, reader.mode, reader.title, reader.ending, nodes)


def _node(payload: Mapping[str, JsonValue]) -> TaskNode:
    return TaskNode(
        task_id=_text(payload, "task_id"),
        parent_id=_text(payload, "parent_id"),
        turn=_number(payload, "turn_number"),
        participant=_text(payload, "participant_id"),
        attempt=_number(payload, "attempt"),
    )


def _text(data: Mapping[str, JsonValue], name: str) -> str:
    value = data.get(name)
    return value if isinstance(value, str) else ""


def _number(data: Mapping[str, JsonValue], name: str) -> int:
    value = data.get(name)
    return value if isinstance(value, int) else 0
