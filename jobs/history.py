"""What came before the dialog of a session: the messages of its history, and the state in which a fork began."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..models.protocol.dialog import Message
from ..state.sessions.store import SessionStore
from ..tasks.planning.moment import Moment
from ..tasks.runtime.history import MAX_EARLIER, HistoryReader, TurnAttachments
from .reading import ReadableJob, connections_of, facts_of

if TYPE_CHECKING:
    from ..archive.sessions.reader import ArchiveReader


def earlier_messages(job: ReadableJob, reader: ArchiveReader | None) -> tuple[Message, ...]:
    """Return the newest messages of the history of a session, oldest first; empty: it has none.

    Args:
        job: The session, live or archived.
        reader: Reader of the archive; None: there is none.

    Raises:
        AgentFailed: The archive, which has them, does not answer.
    """
    return _history(job, reader).before(facts_of(job), MAX_EARLIER)


def attachments_in_turns(job: ReadableJob, reader: ArchiveReader | None) -> TurnAttachments:
    """Return the reader of the files that turns of a session may see; the arguments are those of `earlier_messages`."""
    return TurnAttachments(_history(job, reader), facts_of(job))


def _history(job: ReadableJob, reader: ArchiveReader | None) -> HistoryReader:
    # The store of an archived job reads the archive only, and the history may be live.
    return HistoryReader(SessionStore(connections_of(job).redis), archive=lambda: reader)


def start_of(job: ReadableJob) -> Moment:
    """Return the state in which a session began; that of a fork is the state before its first turn."""
    start = connections_of(job).store.start(job.id)
    return Moment.from_start(start) if start else Moment()
