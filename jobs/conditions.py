"""Why a session does not move, and whether a person should look at it. Pure.

Of several conditions of a session, the first one in the order of `Kind` counts. `ATTENTIONS` are those that need
attention; the others say what the session does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from pydantic import JsonValue

from ..models.protocol.collab import Collab
from ..models.sessions.options import FailurePolicy
from ..models.sessions.spec import SessionSpec
from ..models.text.words import span_in_words
from ..state.redis.readers import converting_to_corrupt, read_object

Kind = Literal[
    "unreadable",
    "lost",
    "worker",
    "stuck",
    "person",
    "retry",
    "budget",
    "remote",
    "session",
    "postponed",
    "speaking",
    "queued",
    "planning",
]
#: Kinds that need attention, the first one first, with their badges.
ATTENTIONS: Mapping[str, str] = {
    "unreadable": "unreadable",
    "lost": "worker lost",
    "worker": "no worker",
    "stuck": "stuck",
    "person": "needs answer",
    "retry": "retries",
    "budget": "waits: budget",
}
#: Shortest time for which a condition lasts that is shown.
_MIN_SHOWN_MS = 1_000


@dataclass(frozen=True, slots=True)
class AttentionLimits:
    """Times without progress, in milliseconds, after which a session counts as stuck: as in the metrics."""

    stuck_ms: int


@dataclass(frozen=True, slots=True)
class Workers:
    """The workers, as last read. Times are in milliseconds since the epoch, by the server's clock."""

    #: Names of those that run.
    alive: frozenset[str] = frozenset()
    #: Process that was lost -> since when.
    lost: Mapping[str, int] = field(default_factory=dict)
    #: Since when none runs; None: unknown, or one runs.
    none_since_ms: int | None = None
    #: When workers last took a message from the queue; 0: unknown.
    queue_moved_ms: int = 0


@dataclass(frozen=True, slots=True)
class Roster:
    """Settings of a session that its condition needs; they change with its edition only."""

    #: Display name by participant id.
    names: Mapping[str, str] = field(default_factory=dict)
    roles: Mapping[str, str] = field(default_factory=dict)
    #: Attempts by participant id, and those of all others.
    attempts: Mapping[str, int] = field(default_factory=dict)
    default_attempts: int = 3
    tenant: str | None = None

    @classmethod
    def read(cls, session_id: str, collab: str, spec: str) -> Roster:
        """Return the settings from the documents of a session.

        Raises:
            CorruptSession: A stored record is invalid.
        """
        people = read_object(collab, session_id=session_id, part="collab").get("participants")
        rows = [row for row in people if isinstance(row, dict)] if isinstance(people, list) else []
        ids = {str(row.get("participant_id")): row for row in rows}
        options: dict[str, Any] = read_object(spec, session_id=session_id, part="spec")
        with converting_to_corrupt(session_id, "spec"):
            policies = {
                name: FailurePolicy.model_validate(policy)
                for name, policy in (options.get("policies") or {}).items()
            }
            policy = FailurePolicy.model_validate(options.get("policy") or {})
        return cls(
            names={name: str(row.get("display_name") or name) for name, row in ids.items()},
            roles={name: str(row["role_id"]) for name, row in ids.items() if row.get("role_id")},
            attempts={name: policy.attempts for name, policy in policies.items()},
            default_attempts=policy.attempts,
            tenant=options.get("tenant"),
        )

    @classmethod
    def of(cls, collab: Collab, spec: SessionSpec) -> Roster:
        """Return the settings of a session."""
        people = {person.participant_id: person for person in collab.participants}
        return cls(
            names={name: person.display_name or name for name, person in people.items()},
            roles={name: person.role_id for name, person in people.items() if person.role_id},
            attempts={name: policy.attempts for name, policy in spec.policies.items()},
            default_attempts=spec.policy.attempts,
            tenant=spec.tenant,
        )

    def name(self, participant: str) -> str:
        """Return the display name of a participant, or of a person who is asked."""
        return self.names.get(participant, participant)

    def attempts_of(self, participant: str) -> int:
        """Return how many attempts a turn of a participant has."""
        return self.attempts.get(participant, self.default_attempts)


@dataclass(frozen=True, slots=True)
class Condition:
    """What a session does, or why it does not move. Times are in milliseconds since the epoch.

    It changes only when the session or the workers change, not with time.
    """

    kind: Kind | None = None
    #: The turn that it is about, and the name of its participant; empty: the person must speak, and was asked by no agent.
    turn: int | None = None
    who: str = ""
    #: Names of the people who may answer, with their roles on the session page.
    answerers: tuple[str, ...] = ()
    answerer_roles: tuple[str, ...] = ()
    #: Name of the worker that was lost, or that runs the turn.
    worker: str = ""
    #: The error, the question, or what is missing.
    detail: str = ""
    #: What happens next without a person, or at `due_ms`.
    then: str = ""
    since_ms: int | None = None
    due_ms: int | None = None
    attempt: int = 0
    attempts: int = 0
    #: Number of turns in this condition.
    count: int = 0
    #: Turns whose workers were lost.
    lost_turns: tuple[int, ...] = ()
    #: Queues of the agents that no worker has, as the option `--queue` takes them; empty: only the common one.
    queues: str = ""

    @property
    def attention(self) -> str | None:
        """Return its name as an attention; None: it needs none."""
        return self.kind if self.kind in ATTENTIONS else None

    @property
    def badge(self) -> str | None:
        """Return the text of the badge; None: that of the status."""
        return ATTENTIONS.get(self.kind or "")

    def list_text(self) -> str | None:
        """Return the text in the list, without times; None: it needs no attention."""
        match self.kind:
            case "lost":
                return f"{self.who} was speaking on {self.worker or 'a lost worker'}"
            case "person":
                asked_by = f", asked by {self.who}" if self.who else ""
                return f"{' or '.join(self.answerers)} must answer{asked_by}"
            case "retry":
                most = f" of {self.attempts}" if self.attempts else ""
                return ". ".join(filter(None, (f"Attempt {self.attempt}{most}", self.detail)))
            case "unreadable" | "worker" | "stuck" | "budget":
                return self.detail
            case _:
                return None

    def sentence(self, now_ms: int) -> str | None:
        """Return why the session does not move, for how long, and what happens next; None: it needs no attention.

        Args:
            now_ms: The time by the server's clock, in milliseconds since the epoch.
        """
        text = self.list_text()
        if text is None:
            return None
        if self.since_ms is not None and now_ms - self.since_ms >= _MIN_SHOWN_MS:
            text += f" (for {span_in_words((now_ms - self.since_ms) / 1000)})"
        then = self.then or ("it is tried again" if self.kind == "retry" else "")
        if then and self.due_ms is not None and self.due_ms > now_ms:
            then += f" in {span_in_words((self.due_ms - now_ms) / 1000)}"
        return "; ".join(filter(None, (text, then)))

    def to_json(self) -> dict[str, JsonValue]:
        """Return what a session does, or why it does not move, as JSON data."""
        return {
            "condition": self.kind,
            "attention": self.attention,
            "badge": self.badge,
            "attention_text": self.list_text(),
            "attention_next": self.then or None if self.attention else None,
            "attention_since_ms": self.since_ms,
            "attention_due_ms": self.due_ms,
        }


NO_CONDITION = Condition()
