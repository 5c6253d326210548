"""The expected result of a session, and the report of differences."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Script:
    """What must come of a session."""

    session: str
    mode: str
    #: Why it ends.
    reason: str
    #: Who speaks, in order; those of one group side by side.
    groups: tuple[tuple[str, ...], ...] = ()
    #: Texts of the work items, each to be done once (swarm).
    items: tuple[str, ...] = ()
    #: Participant that speaks once more after all items.
    reducer: str | None = None
    #: Answers that close a group; the others may be dropped.
    quorum: int | None = None
    #: Participants whose turns are skipped, each time.
    silent: frozenset[str] = frozenset()
    #: Its last turn gives the output.
    has_output: bool = False
    #: Its agents note what they say; False: they are models, and only Redis is read.
    noted: bool = True
    #: Participants whose turns are sub-sessions, each with the id of its one sub-session.
    teams: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that must not be. `kind`: lost, doubled, order, fence, budget, record, end, archive."""

    session: str
    kind: str
    says: str
