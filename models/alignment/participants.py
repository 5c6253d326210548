"""Participants in the transcript of an alignment session: names that fit headings, and roles."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, count

from ..errors import InvalidInput
from ..protocol.collab import Collab, CollabMode, Participant
from ..protocol.dialog import Message
from .document import Turn
from .document.headings.names import split_name
from .document.text.vocabulary import JUDGE

_EXPERT = "Expert"
#: Role of the judge by the session's mode, where the participant has none of its own.
_JUDGES = {CollabMode.ORCHESTRATED: "Orchestrator", CollabMode.BROADCAST: "Aggregator"}


@dataclass(frozen=True, slots=True)
class TranscriptNames:
    """The experts' names and roles by participant id, and the judge's role; None: there is no judge."""

    names: dict[str, str]
    roles: dict[str, str]
    judge: str | None = None


def transcript_names(collab: Collab, messages: Sequence[Message], experts: Sequence[str]) -> TranscriptNames:
    """Return the participants by name. Experts who left are named by their id; any other speaker is the judge."""
    known = {it.participant_id: it for it in collab.participants}
    left = (it for it in experts if it not in known)
    people = [*known.values(), *(Participant(participant_id=it) for it in left)]
    named = [it for it in people if it.participant_id in experts]
    roles = {it.participant_id: _role(it, _EXPERT) for it in named}
    spoke = {it.speaker for it in messages if it.turn_number is not None and it.speaker is not None}
    judges = [known.get(it) for it in dict.fromkeys((*known, *sorted(spoke))) if it not in experts]
    if not judges:
        return TranscriptNames(_names(named), roles)
    default = _JUDGES.get(collab.mode, JUDGE)
    return TranscriptNames(_names(named), roles, _role(judges[0], default) if judges[0] else default)


def _role(participant: Participant, default: str) -> str:
    """Return a participant's role. One that was filled from the id says nothing."""
    role = (participant.role_id or "").strip()
    return role if role and role != participant.participant_id else default


def _names(people: Iterable[Participant]) -> dict[str, str]:
    """Return names that a heading can carry, each different: as displayed, or the id, or a number."""
    names: dict[str, str] = {}
    taken: set[str] = set()
    for at, it in enumerate(people, start=1):
        numbered = (f"{_EXPERT} {number}" for number in count(at))
        choices = chain((_name(it.display_name), _name(it.participant_id)), numbered)
        name = next(name for name in choices if name and name.casefold() not in taken)
        names[it.participant_id] = name
        taken.add(name.casefold())
    return names


def _name(text: str | None) -> str:
    """Return the name that a heading with `text` is read with; empty if there is none."""
    try:
        return Turn(split_name(text)[0]).agent if text else ""
    except InvalidInput:
        return ""
