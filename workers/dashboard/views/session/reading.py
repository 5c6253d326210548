"""What the session page reads: the state of a session, and its exports. Every call blocks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import JsonValue

from .....jobs.collab import CollabJob
from .....jobs.reading import connections_of, facts_of
from .....models.errors import InvalidInput
from .....models.protocol.collab import CollabMode
from .....models.text.redact import json_text
from .....state.redis.keys import lock_key
from .....state.redis.readers import converting_to_corrupt, read_object
from .....state.sessions.records import SessionState
from .....tasks.planners.orchestrated import DecisionLog
from .....tasks.sessions.rendering import ledger_of
from .....tasks.waiting.parked_turn import read_all_questions
from .snapshot import SessionParts
from .transcript import without_tokens
from .usage import UsageTotals

#: Open turns whose leases are read.
_MOST_LEASES = 100


def read_session(job: CollabJob, usage: UsageTotals) -> SessionParts:
    """Return the parts of a session's page.

    Args:
        job: The session, live or archived.
        usage: The sums of this process.
    """
    state = job.state()
    facts = facts_of(job)
    is_swarm = facts.collab.mode is CollabMode.SWARM
    return SessionParts(
        facts=facts,
        state=state,
        totals=usage.read(job, opened_ms=state.opened_ms),
        is_live=job.is_live,
        leases_ms=_read_leases(job, state) if job.is_live else {},
        questions=tuple(asked.pending() for asked in read_all_questions(facts, state)) if job.is_live else (),
        board=job.board() if is_swarm else (),
        ledger=ledger_of(state),
        decisions=_read_decisions(state) if facts.collab.mode is CollabMode.ORCHESTRATED else None,
    )


def _read_leases(job: CollabJob, state: SessionState) -> Mapping[int, int]:
    """Return the milliseconds left of the locks of the turns that run."""
    running = [record for record in state.open_turns() if record.status == "speaking"][:_MOST_LEASES]
    if not running:
        return {}
    with connections_of(job).redis.pipeline(transaction=False) as pipe:
        for record in running:
            pipe.pttl(lock_key(job.id, record.scope))
        return {record.number: max(left, 0) for record, left in zip(running, pipe.execute(), strict=True)}


def _read_decisions(state: SessionState) -> DecisionLog:
    stored = read_object(state.planner, session_id=state.session_id, part="planner")
    with converting_to_corrupt(state.session_id, "planner"):
        return DecisionLog.model_validate(stored.get("ledger") or {})


@dataclass(frozen=True, slots=True)
class Export:
    """A session as a file."""

    file_name: str
    content_type: str
    text: str


def read_export(job: CollabJob, form: str) -> Export:
    """Return a whole session as a file, as `symposia export` writes it.

    Until the session ends, its events are without tokens: the token of a turn that runs grants its commit.

    Args:
        job: The session.
        form: `json`, `map-events` or `alignment`.

    Raises:
        InvalidInput: The format is unknown, or is not possible for this session.
    """
    match form:
        case "json":
            document = {"collab": job.collab().to_wire(), "dialog": job.dialog().to_wire()}
            return Export(f"{job.id}.json", "application/json", json_text(document, indent=2))
        case "map-events":
            events = {"session_id": job.id, "events": _read_map_events(job)}
            return Export(f"{job.id}.map-events.json", "application/json", json_text(events, indent=2))
        case "alignment":
            return Export(f"{job.id}.dialogue.md", "text/markdown", job.transcript())
        case _:
            raise InvalidInput("format", form, "must be json, map-events or alignment")


def _read_map_events(job: CollabJob) -> list[dict[str, JsonValue]]:
    is_final = job.state().is_final
    events: list[dict[str, JsonValue]] = [event.to_wire() for event in job.events()]
    if not is_final:
        for event in events:
            if isinstance(payload := event.get("payload"), dict):
                event["payload"] = without_tokens(payload)
    return events
