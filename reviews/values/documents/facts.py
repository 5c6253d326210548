"""Differences between a document and its repository.

Reviewers see one document and no file. The source that reads the document compares it with the repository, and
passes the differences to the reviewers as data.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from ....models.protocol.base import Text
from ....models.turns.frozen import Frozen

#: Maximum number of differences of one kind.
MAX_FACTS = 100
_Short = Annotated[Text, Field(max_length=4_096)]


class RepositoryFacts(Frozen):
    """Differences between one document and its repository."""

    #: Targets of links, as written, whose file does not exist.
    missing_files: Annotated[tuple[_Short, ...], Field(max_length=MAX_FACTS)] = ()
    #: Targets of links whose file has no such place.
    missing_anchors: Annotated[tuple[_Short, ...], Field(max_length=MAX_FACTS)] = ()
    #: Code words that differ by one letter from a name of the repository, with that name.
    misspelled: Annotated[dict[_Short, _Short], Field(default_factory=dict, max_length=MAX_FACTS)]

    @property
    def is_empty(self) -> bool:
        """Return whether there are no differences."""
        return not (self.missing_files or self.missing_anchors or self.misspelled)
