"""Sub-sessions: the parent of a session, the document of a sub-session, and its bounds. Pure.

A sub-session answers a turn of another session, its parent. Its document has the form of a session file. The
submitter, or the operator of the workers, reads the file; a job contains only its content.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any

from pydantic import Field

from ..errors import InvalidInput
from ..text.ids import Id, derived_id
from ..turns.frozen import Frozen
from .subsession_limits import DEEPEST, TOO_DEEP

#: Built-in agent of a participant whose binding contains the document of a session.
SESSION_AGENT = "session"

#: Fields of a session file that a sub-session must not have, each with the reason.
_REFUSED = {
    **dict.fromkeys(("tenant", "priority", "owner", "task", "conversation"), "inherits it from its parent"),
    "continues": "begins with messages of its parent",
    "draft": "starts when its parent asks it",
}

# One more than can be configured: a sub-session that is nested too deep gets a reference, too, and is then refused.
Depth = Annotated[int, Field(ge=1, le=DEEPEST + 1)]


class ParentRef(Frozen):
    """The turn that a sub-session answers."""

    #: Id of the parent.
    session_id: Id
    #: Number of the parent's turn.
    turn: int = Field(ge=1)
    #: Number of the sub-session within the turn, from 0.
    call: int = Field(default=0, ge=0)
    #: Id of the session at the top of the tree.
    root: Id
    #: Number of sessions above it.
    depth: Depth = 1

    @classmethod
    def below(cls, session_id: str, parent: ParentRef | None, *, turn: int, call: int) -> ParentRef:
        """Return the reference of a sub-session to a session, whose own reference is `parent`."""
        root, depth = (parent.root, parent.depth + 1) if parent else (session_id, 1)
        return cls(session_id=session_id, turn=turn, call=call, root=root, depth=depth)

    @property
    def child_id(self) -> str:
        """Return the id of the sub-session: the same in every attempt, so that it is opened once."""
        return derived_id(f"{self.session_id}|{self.turn}|{self.call}|sub-session")


def check_document(document: object, where: str = "session") -> Mapping[str, Any]:
    """Return the document of a sub-session, whose own fields are checked when it is read as a submission.

    Raises:
        InvalidInput: It is not a table, or has a field that a sub-session must not have.
    """
    if not isinstance(document, Mapping):
        raise InvalidInput(where, document, "must be a session file, or a table of its fields")
    for name, reason in _REFUSED.items():
        if document.get(name) is not None:
            rule = f"must not be set in a sub-session, which {reason}"
            raise InvalidInput(f"{where}.{name}", document[name], rule)
    if "inputs" in document:
        raise InvalidInput(f"{where}.inputs", document["inputs"], "must be set at the top of a session file")
    return document


def session_holders(document: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the tables of a document that have the field `session`, with the place of this field."""
    agents, participants = document.get("agents"), document.get("participants")
    if isinstance(agents, Mapping):
        for name, binding in agents.items():
            if isinstance(binding, Mapping) and "session" in binding:
                yield f"agents.{name}.session", binding
    for index, entry in enumerate(participants if isinstance(participants, list) else ()):
        if not isinstance(entry, Mapping):
            continue
        if "session" in entry:
            yield f"participants[{index}].session", entry
        elif isinstance(agent := entry.get("agent"), Mapping) and "session" in agent:
            yield f"participants[{index}].agent.session", agent


def check_depth(document: Mapping[str, Any], where: str, *, left: int) -> None:
    """Check that at most `left` sessions are nested here, the document itself included.

    Raises:
        InvalidInput: The documents are nested deeper.
    """
    if left < 1:
        raise InvalidInput(where, document.get("title"), TOO_DEEP)
    for inner, holder in session_holders(document):
        if isinstance(nested := holder["session"], Mapping):
            check_depth(nested, f"{where}.{inner}", left=left - 1)
