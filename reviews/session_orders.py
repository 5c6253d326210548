"""From what a person asks to an order: which archived sessions, which panel, with or without a model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, Unpack

from ..models.errors import InvalidInput, SessionNotFound
from .ordering import SESSIONS_NAME, seated_panel
from .sources.sessions import SessionSource
from .sources.source import Caps
from .starting import Order

if TYPE_CHECKING:
    from ..archive.archive import Archive

#: The panel unless told.
DEFAULT_PANEL = "document"
_MOST = Caps().items


class HowToReviewSessions(TypedDict, total=False):
    """How archived sessions are to be reviewed; every key may be left out."""

    #: The panel's name; `document` unless told.
    panel: str
    #: The agent that sits in the panel's seats for a model; None: no model is asked anything.
    model: str | None
    #: Only sessions with this tag.
    tag: str | None
    #: Only sessions in which this participant took part.
    participant: str | None
    #: At most so many, the newest; None: 5,000.
    newest: int | None
    #: Also what has not changed since this panel reviewed it last.
    everything: bool
    #: A file of panels; `panels.toml` in the working folder, where there is one.
    panels_file: Path | None


def order_of_sessions(
    ids: Sequence[str] = (),
    *,
    archive: Archive | None,
    known_agents: frozenset[str] = frozenset(),
    **how: Unpack[HowToReviewSessions],
) -> Order:
    """The order to review archived sessions: those with these ids, else those that have ended, the newest first.

    Sessions of reviews are reviewed by their ids only.

    Raises:
        InvalidInput: no archive is kept, the panel is not there, or nobody knows an agent of it.
        SessionNotFound: one that is named is not in the archive.
        ArchiveUnavailable: it does not answer.
    """
    from ..archive.values import Wanted

    if archive is None:
        raise InvalidInput("sessions", None, "must be in an archive: none is kept (SYMPOSIA_ARCHIVE)")
    panel = seated_panel(
        how.get("panel", DEFAULT_PANEL), how.get("model"), how.get("panels_file"), known_agents=known_agents
    )
    reader = archive.to_read()
    for session_id in ids:
        if reader is None:
            raise SessionNotFound(session_id)
        reader.session(session_id)
    wanted = Wanted(tag=how.get("tag"), participant=how.get("participant"))
    caps = Caps(items=how.get("newest") or _MOST)
    return Order(
        root_name=SESSIONS_NAME,
        panel=panel,
        source=SessionSource(reader, ids, wanted, caps),
        everything=how.get("everything", False),
    )
