"""Options that several commands take."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer


class Mode(StrEnum):
    """The five modes, by the names the models have for them."""

    ROUND_ROBIN = "round_robin"
    ORCHESTRATED = "orchestrated"
    PAIR = "pair"
    BROADCAST = "broadcast"
    SWARM = "swarm"


class Status(StrEnum):
    """Where a session is in its life, by the names the models have for it."""

    DRAFT = "draft"
    ACTIVE = "active"
    SUSPENDED = "suspended"
    COMPLETED = "completed"
    CANCELLED = "cancelled"


AsJson = Annotated[bool, typer.Option("--json", help="Print data for programs on standard output.")]
SessionId = Annotated[
    str, typer.Argument(metavar="ID", help="The session's id, or its first 8 characters or more.")
]
