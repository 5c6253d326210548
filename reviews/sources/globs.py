"""Selection of paths by patterns as in a shell and `.gitignore`.

`*`, `?` and `[...]` match characters of one name, `**` any number of folders. A pattern without a `/`
matches names, at any depth; one with a `/` matches the whole path, from the root. A pattern that matches a
folder matches everything in it.

pathspec is not used: its version 1.1 makes one regular expression of a pattern, and `*a*a*a*a*a*a*a*a*a*a*a*ab` takes
minutes for a long name.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

from ...models.errors import InvalidInput

#: Maximum patterns of one kind, and characters of one pattern.
MAX_PATTERNS = 100
MAX_PATTERN = 500


class Globs:
    """A set of patterns. Raises InvalidInput for one that can match nothing."""

    def __init__(self, patterns: Iterable[str], *, field: str) -> None:
        given = tuple(patterns)
        if len(given) > MAX_PATTERNS:
            raise InvalidInput(field, len(given), f"must have at most {MAX_PATTERNS} patterns")
        self._patterns = tuple(_parts(pattern, field) for pattern in given)

    def __bool__(self) -> bool:
        return bool(self._patterns)

    def matches(self, path: str) -> bool:
        """Return whether one of them matches a path, or a folder that it is in."""
        parts = path.split("/")
        return any(_matches(pattern, parts) for pattern in self._patterns)


def _parts(pattern: str, field: str) -> tuple[str, ...]:
    bare = pattern.removeprefix("./").removeprefix("/").rstrip("/")
    if not bare or len(pattern) > MAX_PATTERN or ".." in bare.split("/"):
        raise InvalidInput(field, pattern, "must be a pattern below the root, such as *.py or docs/**/*.md")
    parts = bare.split("/")
    anywhere = len(parts) == 1 and not pattern.startswith(("/", "./"))
    # Several `**` in a row mean the same as one, and would only cost time.
    given = ["**", *parts] if anywhere else parts
    return tuple(part for at, part in enumerate(given) if part != "**" or given[at - 1 : at] != ["**"])


def _matches(pattern: Sequence[str], parts: Sequence[str]) -> bool:
    """Return whether the pattern matches the path or a folder above it.

    It tracks the set of reachable pattern positions, so the time is at most the product of both lengths, with any number of stars.
    """
    places = _skip_stars({0}, pattern)
    for part in parts:
        if len(pattern) in places:
            return True
        stay = {at for at in places if pattern[at] == "**"}
        go = {at + 1 for at in places if pattern[at] == "**" or fnmatchcase(part, pattern[at])}
        places = _skip_stars(stay | go, pattern)
        if not places:
            return False
    return len(pattern) in places


def _skip_stars(places: set[int], pattern: Sequence[str]) -> set[int]:
    """Return the positions, and those after a `**` that matches no folder. A last `**` matches one name at least."""
    return places | {at + 1 for at in places if at < len(pattern) - 1 and pattern[at] == "**"}
