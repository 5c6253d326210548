"""Differences between a document and its repository, such as code words that differ from a name by one letter.

Reviewers see one document and no file. The source that reads the document compares it with the repository, and
passes the differences to the reviewers as data.
"""

from __future__ import annotations

import builtins
import keyword
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cached_property
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


#: Minimum characters of a word: short words differ by one letter by chance.
MIN_WORD = 6
#: Maximum characters of a word that is compared: the memory for a word grows with the square of its length.
MAX_WORD = 100
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
#: One name, a dotted name, or a call without arguments.
_WORD = re.compile(r"(?:[A-Za-z_][A-Za-z0-9_]*\.)*[A-Za-z_][A-Za-z0-9_]*(?:\(\))?")


#: Names of the language and its library, which a repository may name without using them.
PYTHON_NAMES = frozenset({*dir(builtins), *keyword.kwlist, *sys.stdlib_module_names, "all", "main", "slots"})


class Names:
    """Names of a repository: identifiers of its files, and the parts of its paths."""

    def __init__(self) -> None:
        self._names: set[str] = set()

    def add(self, text: str) -> None:
        """Add the names in a text."""
        self._names.update(_NAME.findall(text))

    def misspelled(self, words: Iterable[str]) -> Iterator[tuple[str, str]]:
        """Yield the words that no file has, each with a name that differs from it by one letter."""
        for word in dict.fromkeys(words):
            if _WORD.fullmatch(word) is None:
                continue
            for part in word.removesuffix("()").split("."):
                if (
                    not MIN_WORD <= len(part) <= MAX_WORD
                    or part in self._names
                    or part.strip("_") in PYTHON_NAMES
                ):
                    continue
                if name := self._near(part):
                    yield word, name

    def _near(self, word: str) -> str:
        """Return the only name that differs from a word by one letter; empty: none, or several."""
        candidates = {
            name for key in _keys(word) for name in self._by_key.get(key, ()) if is_misspelling(word, name)
        }
        return candidates.pop() if len(candidates) == 1 else ""

    @cached_property
    def _by_key(self) -> dict[str, list[str]]:
        keys: dict[str, list[str]] = defaultdict(list)
        for name in self._names:
            if MIN_WORD - 1 <= len(name) <= MAX_WORD + 1:
                for key in _keys(name):
                    keys[key].append(name)
        return keys


def _keys(word: str) -> set[str]:
    """Return the word and all words with one letter less: two words with one difference share one of them."""
    return {word, *(word[:at] + word[at + 1 :] for at in range(len(word)))}


def is_misspelling(word: str, name: str) -> bool:
    """Return whether a word is a name with one letter too many, missing, replaced, or two exchanged.

    Differences of case, digits and underscores, and endings such as a plural, are no misspellings.
    """
    if word.casefold() == name.casefold() or not word.isascii():
        return False
    if len(word) == len(name):
        places = [at for at, (one, other) in enumerate(zip(word, name, strict=True)) if one != other]
        first, last = places[0], places[-1]
        is_swap = (
            len(places) == 2 and last == first + 1 and word[first] == name[last] and word[last] == name[first]
        )
        return (
            (len(places) == 1 or is_swap)
            and first > 0
            and all(
                word[at].isalpha() and name[at].isalpha() and word[at].islower() == name[at].islower()
                for at in places
            )
        )
    longer, shorter = (word, name) if len(word) > len(name) else (name, word)
    if len(longer) != len(shorter) + 1:
        return False
    at = next((index for index in range(len(shorter)) if longer[index] != shorter[index]), len(shorter))
    is_inner = 0 < at < len(shorter) and longer[at].isalpha() and longer[at] != "s"
    return is_inner and longer[at + 1 :] == shorter[at:]
