"""Review requests for archived sessions: sessions, a panel, with or without a model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, Unpack

from ...models.errors import InvalidInput, SessionNotFound
from ..batches.starting import ReviewRequest
from ..sources.sessions import SessionSource
from ..sources.source import SourceLimits
from .files import SESSIONS_NAME, resolve_panel

if TYPE_CHECKING:
    from ...archive.archive import Archive

#: The default panel.
DEFAULT_PANEL = "document"
_MOST = SourceLimits().items


class HowToReviewSessions(TypedDict, total=False):
    """Options of a review of archived sessions; every key is optional."""

    #: Name of the panel (default `document`).
    panel: str
    #: The agent for the panel's model seats; None: no model is called.
    model: str | None
    #: Only sessions with this tag.
    tag: str | None
    #: Only sessions in which this participant took part.
    participant: str | None
    #: Maximum number of sessions, the newest first; None: 5,000.
    newest: int | None
    #: True: include what has not changed since this panel reviewed it last.
    everything: bool
    #: A file of panels; default: `panels.toml` in the working folder, if it exists.
    panels_file: Path | None


def request_for_sessions(
    ids: Sequence[str] = (),
    *,
    archive: Archive | None,
    known_agents: frozenset[str] = frozenset(),
    **how: Unpack[HowToReviewSessions],
) -> ReviewRequest:
    """Return the order to review archived sessions: those with these ids, else all ended ones, newest first.

    Sessions of reviews are reviewed only if their ids are given.

    Raises:
        InvalidInput: the archive is disabled, the panel does not exist, or an agent of it is unknown.
        SessionNotFound: a given id is not in the archive.
        ArchiveUnavailable: the archive does not answer.
    """
    from ...archive.values import SessionFilter

    if archive is None:
        raise InvalidInput("sessions", None, "require the archive, which is disabled (SYMPOSIA_ARCHIVE)")
    panel = resolve_panel(
        how.get("panel", DEFAULT_PANEL), how.get("model"), how.get("panels_file"), known_agents=known_agents
    )
    reader = archive.open_reader()
    for session_id in ids:
        if reader is None:
            raise SessionNotFound(session_id)
        reader.session(session_id)
    wanted = SessionFilter(tag=how.get("tag"), participant=how.get("participant"))
    caps = SourceLimits(items=how.get("newest") or _MOST)
    return ReviewRequest(
        root_name=SESSIONS_NAME,
        panel=panel,
        source=SessionSource(reader, ids, wanted, caps),
        everything=how.get("everything", False),
    )
