"""Replay of the session of a job: what it reads, live or archived."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from contextlib import suppress
from typing import TYPE_CHECKING

from ..agents.execution.runner import AgentRunner
from ..jobs.history import attachments_in_turns, earlier_messages, start_of
from ..jobs.reading import ReadableJob, connections_of, facts_of
from ..models.errors import InvalidInput, NotRecorded, SessionNotFound
from ..models.sessions.recorded import RecordedTurn
from ..state.redis.readers import read_stored
from ..state.sessions.archiving import RecordingStore
from .dialog import RecordedDialog
from .replay import RecordedSession, ReplayResult, SessionReplay
from .timeline import read_timeline
from .turns import TurnReplay

if TYPE_CHECKING:
    from ..agents.registry.registry import Registry
    from ..archive.sessions.reader import ArchiveReader


def replay_job(
    job: ReadableJob,
    reader: ArchiveReader | None,
    registry: Registry,
    *,
    secrets: Iterable[str],
    rerun: Collection[str] = (),
) -> ReplayResult:
    """Replay the session of a job in this process.

    Args:
        job: The job.
        reader: Reader of the archive; None: there is none.
        registry: The agents.
        secrets: Texts that records do not contain.
        rerun: Participants whose agents run again, whatever their kind.

    Raises:
        NotRecorded: The calls of the session were not recorded.
        InvalidInput: `rerun` contains a name that is no participant.
        ReplayDiffers: The replay differs from the record.
    """
    session = _read_session(job, reader)
    for name in rerun:
        if name not in session.facts.roster:
            known = ", ".join(session.facts.roster)
            raise InvalidInput("rerun", name, f"must be the id of a participant: {known}")
    runner = AgentRunner(secrets=secrets)
    try:
        turns = TurnReplay(
            session.facts,
            registry,
            runner,
            session.dialog,
            tuple(secrets),
            frozenset(rerun),
            attachments_in_turns(job, reader),
        )
        return SessionReplay(session, turns).run()
    finally:
        runner.close()


def _read_session(job: ReadableJob, reader: ArchiveReader | None) -> RecordedSession:
    state = job.state()
    facts = facts_of(job)
    if not facts.spec.record:
        raise NotRecorded(job.id)
    # The messages before the records: the record of a turn is older than its messages.
    timeline = read_timeline(job.events())
    messages = (*earlier_messages(job, reader), *job.messages())
    journal = job.collab().events or ()
    return RecordedSession(
        facts=facts,
        state=state,
        timeline=timeline,
        dialog=RecordedDialog(messages),
        records=_read_records(job, reader),
        start=start_of(job),
        has_other_roster=any(it.event_type == "roster.changed" for it in journal),
    )


def _read_records(job: ReadableJob, reader: ArchiveReader | None) -> dict[str, RecordedTurn]:
    """Return the records by token: those in Redis, and those that the archive has."""
    found: dict[str, str] = {}
    if job.is_live:
        found |= RecordingStore(connections_of(job).redis).read_all(job.id)
    if reader is not None:
        with suppress(SessionNotFound):  # it is not archived yet
            found |= reader.records(job.id)
    return {
        token: read_stored(RecordedTurn, text, session_id=job.id, part="the record of a turn")
        for token, text in found.items()
    }
