"""History of a session: the messages of an earlier session that it continues, by reference.

The earlier session may have a history itself, so that histories form a chain.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from ..text.ids import Id
from ..turns.frozen import Frozen

#: Position of a dialog without messages.
NO_MESSAGE = "0-0"


class History(Frozen):
    """Messages of an earlier session, up to one of them. They are read from that session and never copied."""

    session: Id
    #: Id of the stream entry of the last message that belongs to it; `0-0`: none does.
    until: Annotated[str, Field(pattern=r"^\d{1,20}-\d{1,20}$")] = NO_MESSAGE
    #: In a fork, number of the turn before which it begins; None: the session was continued after its end.
    before_turn: int | None = Field(default=None, ge=1)
