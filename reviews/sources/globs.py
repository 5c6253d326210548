"""Which paths are meant: patterns as a shell and `.gitignore` have them.

`*`, `?` and `[...]` stand for characters of one name, `**` for any number of folders. A pattern without a `/`
is about names, at any depth; one with a `/` is about the whole path, from the root. A pattern that fits a
folder fits all that is in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

from ...models.errors import InvalidInput

#: Patterns of one kind, and characters of one.
MAX_PATTERNS = 100
MAX_PATTERN = 500


class Globs:
    """Some patterns. Raises InvalidInput for one that can fit nothing."""

    def __init__(self, patterns: Iterable[str], *, field: str) -> None:
        given = tuple(patterns)
        if len(given) > MAX_PATTERNS:
            raise InvalidInput(field, len(given), f"must have at most {MAX_PATTERNS} patterns")
        self._patterns = tuple(_parts(pattern, field) for pattern in given)

    def __bool__(self) -> bool:
        return bool(self._patterns)

    def fit(self, path: str) -> bool:
        """Whether one of them fits a path, or a folder that it is in."""
        parts = path.split("/")
        return any(_fits(pattern, parts) for pattern in self._patterns)


def _parts(pattern: str, field: str) -> tuple[str, ...]:
    bare = pattern.removeprefix("./").removeprefix("/").rstrip("/")
    if not bare or len(pattern) > MAX_PATTERN or ".." in bare.split("/"):
        raise InvalidInput(field, pattern, "must be a pattern within the root, such as *.py or docs/**/*.md")
    parts = bare.split("/")
    anywhere = len(parts) == 1 and not pattern.startswith(("/", "./"))
    # Several `**` in a row mean what one means, and would only cost time.
    given = ["**", *parts] if anywhere else parts
    return tuple(part for at, part in enumerate(given) if part != "**" or given[at - 1 : at] != ["**"])


def _fits(pattern: Sequence[str], parts: Sequence[str]) -> bool:
    """Whether the pattern fits the path or a folder above it: its parts are a set of places, so it takes
    the product of both lengths at most, whatever the stars.
    """
    places = _behind_stars({0}, pattern)
    for part in parts:
        if len(pattern) in places:
            return True
        stay = {at for at in places if pattern[at] == "**"}
        go = {at + 1 for at in places if pattern[at] == "**" or fnmatchcase(part, pattern[at])}
        places = _behind_stars(stay | go, pattern)
        if not places:
            return False
    return len(pattern) in places


def _behind_stars(places: set[int], pattern: Sequence[str]) -> set[int]:
    """The places, and those behind a `**` that stands for no folder. A last `**` stands for one name at least."""
    return places | {at + 1 for at in places if at < len(pattern) - 1 and pattern[at] == "**"}
