"""Requests to review archived sessions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, Unpack

from ...models.errors import InvalidInput, SessionNotFound
from ..batches.request import ReviewRequest
from ..sources.archived_sessions import SessionSource
from ..sources.source import SourceLimits
from .deliveries import delivery_options
from .panels import resolve_panel
from .roots import SESSIONS_NAME

if TYPE_CHECKING:
    from ...archive.archive import Archive

#: The default panel.
DEFAULT_PANEL = "document"
_MOST = SourceLimits().items


class HowToReviewSessions(TypedDict, total=False):
    """Options of a review of archived sessions; every key is optional."""

    #: Name of the panel (default `document`).
    panel: str
    #: Agent for the model reviewers of the panel; None: no model is called.
    model: str | None
    #: Only sessions with this tag.
    tag: str | None
    #: Only sessions in which this participant took part.
    participant: str | None
    #: Maximum number of sessions, the newest first; None: 5,000.
    newest: int | None
    #: True: include items that have not changed since this panel reviewed them last.
    everything: bool
    #: A file of panels; default: `panels.toml` in the working folder, if it exists.
    panels_file: Path | None
    #: Deliveries of the report, by their names in the deliveries file of the workers.
    deliver: Sequence[str]


def request_for_sessions(
    ids: Sequence[str] = (),
    *,
    archive: Archive | None,
    known_agents: frozenset[str] = frozenset(),
    **how: Unpack[HowToReviewSessions],
) -> ReviewRequest:
    """Return the request to review archived sessions: those with these ids, or all ended ones, newest first.

    Sessions of reviews are reviewed only if their ids are given.

    Raises:
        InvalidInput: The archive is disabled, the panel does not exist, or an agent of it is unknown.
        SessionNotFound: A given id is not in the archive.
        ArchiveUnavailable: The archive does not answer.
    """
    from ...archive.results import SessionFilter

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
        then=delivery_options(how.get("deliver", ())),
    )
