"""The known names that are nearest to a name: for messages about unknown names."""

from __future__ import annotations

from collections.abc import Collection
from difflib import get_close_matches

#: Names that are listed if none is near.
_LISTED = 10


def nearest_names(name: str, known: Collection[str]) -> str:
    """Return up to three names that are near, else the first known ones; empty if none is known."""
    names = sorted(known)
    return ", ".join(
        get_close_matches(name, names, n=3) or [*names[:_LISTED], *(["..."] if names[_LISTED:] else [])]
    )


def did_you_mean(name: str, known: Collection[str], *, most: int = 1) -> str:
    """Return `, did you mean turn_timeout_s?` with the nearest names, at most `most`; empty if none is near."""
    near = get_close_matches(name, sorted(known), n=most)
    return f", did you mean {' or '.join(near)}?" if near else ""
