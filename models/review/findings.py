"""A finding: one problem that a reviewer reports in some lines of an item."""

from __future__ import annotations

import hashlib
import json
import re
from enum import StrEnum
from typing import Annotated, Self

from pydantic import Field, model_validator

from ..protocol.base import NonBlank, Text
from ..severity import Severity
from ..turns.turn import Frozen

#: Characters of a rule's name, of what is said of a finding, and of what is put in place of it.
MAX_RULE = 200
MAX_MESSAGE = 4_000
MAX_SUGGESTION = 8_000
#: Characters of a path: what Linux takes.
MAX_PATH = 4_096
#: Lines of an item are counted no further.
MAX_LINE = 10**9

_NUMBERS = re.compile(r"\d+")

Line = Annotated[int, Field(ge=0, le=MAX_LINE)]


class FindingStatus(StrEnum):
    """Status of a finding compared with the previous run."""

    NEW = "new"
    STILL = "still"
    GONE = "gone"
    #: The baseline knows it.
    SUPPRESSED = "suppressed"


class Finding(Frozen):
    """One problem, and the participants who report it."""

    #: The item's path, relative to its root.
    path: Annotated[NonBlank, Field(max_length=MAX_PATH)]
    #: Lines from 1, both included; 0 and 0: the item as a whole.
    start_line: Line
    end_line: Line
    rule: Annotated[NonBlank, Field(max_length=MAX_RULE)]
    severity: Severity
    message: Annotated[NonBlank, Field(max_length=MAX_MESSAGE)]
    suggestion: Annotated[Text, Field(max_length=MAX_SUGGESTION)] = ""
    #: Participant ids of all who found it.
    agents: tuple[Text, ...] = ()
    #: Confidence of the agents, from 0 to 1.
    confidence: Annotated[float, Field(ge=0, le=1)] = 1.0
    #: Other names of the finding, from other participants who found it.
    aliases: tuple[Text, ...] = ()
    #: Hash of the first flagged line's text (`snippets.py`); empty: not known.
    snippet_sha: Text = ""
    status: FindingStatus | None = None

    @model_validator(mode="after")
    def _check_line_order(self) -> Self:
        if self.end_line < self.start_line:
            raise ValueError("end_line must not be before start_line")
        return self

    @property
    def fingerprint(self) -> str:
        """32 hexadecimal digits that stay the same when the lines move or a number in the message changes.

        Two findings alike in everything but their place share one.
        """
        identity = (self.path, self.rule.casefold(), normalise_message(self.message), self.snippet_sha)
        return hashlib.sha256(json.dumps(identity).encode()).hexdigest()[:32]

    @property
    def is_open(self) -> bool:
        """True if the finding is neither gone nor suppressed."""
        return self.status not in (FindingStatus.GONE, FindingStatus.SUPPRESSED)

    @property
    def place(self) -> str:
        """`path:line`, `path:from-to`, or the path alone."""
        if self.start_line == 0:
            return self.path
        lines = (
            str(self.start_line) if self.start_line == self.end_line else f"{self.start_line}-{self.end_line}"
        )
        return f"{self.path}:{lines}"


def normalise_message(message: str) -> str:
    """Return the content of a message, independent of its spacing, its case and the numbers in it."""
    return _NUMBERS.sub("0", " ".join(message.casefold().split()))
