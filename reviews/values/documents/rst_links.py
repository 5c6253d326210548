"""Links and labels of reStructuredText, as far as they can be read without docutils."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence

from .document import Heading, Labels, Link

_TARGET = re.compile(r"\s*\.\. _(?:`([^`]+)`|([^:`\s][^:`]*)):(?:\s+(\S.*))?")
_UNREAD_TARGET = re.compile(r"\.\. _[\w-]+\s*")
#: An embedded target, with its underscore; without one, the text is no link.
_EMBEDDED = re.compile(r"(?<![`:\w])`([^`<>]*)<([^`<>\s]+)>`(_{0,2})(?!`)")
_NAMED = re.compile(r"(?<![`:\w])`([^`<>]+)`_(?![`\w])")
_MARKDOWN_LINK = re.compile(r"\]\(https?://[^)\s]*\)")


def read_links(
    lines: Sequence[str], body: str, headings: Sequence[Heading]
) -> tuple[tuple[Link, ...], Labels]:
    """Return the links and labels of a document; `body`: its text without blocks and code, line by line."""
    targets = [
        (number, match[1] or match[2], (match[3] or "").strip())
        for number, line in enumerate(lines, 1)
        if (match := _TARGET.fullmatch(line))
    ]
    ends = [match.start() for match in re.finditer("\n", body)]

    def line_of(match: re.Match[str]) -> int:
        return bisect_left(ends, match.start()) + 1

    embedded = [(line_of(match), match[1], match[2], match[3]) for match in _EMBEDDED.finditer(body)]
    named = [(number, name, target) for number, name, target, sign in embedded if sign == "_"]
    first: dict[str, str] = {}
    for _, name, target in sorted([*targets, *named]):
        first.setdefault(_normalize(name), target)
    titles = {_normalize(heading.text) for heading in headings}
    unread = [
        *(
            Link(number, line.strip())
            for number, line in enumerate(lines, 1)
            if _UNREAD_TARGET.fullmatch(line)
        ),
        *(
            Link(number, f"`{name}<{target}>`")
            for number, name, target, sign in embedded
            if not sign and "://" in target
        ),
        *(Link(line_of(match), match[0]) for match in _MARKDOWN_LINK.finditer(body)),
    ]
    links = [Link(number, target) for number, _, target in targets if target]
    return (
        (*links, *(Link(number, target) for number, _, target, sign in embedded if sign)),
        Labels(
            defined=len(first),
            undefined=tuple(
                Link(line_of(match), " ".join(match[1].split()))
                for match in _NAMED.finditer(body)
                if _normalize(match[1]) not in first.keys() | titles
            ),
            redefined=tuple(
                Link(number, name)
                for number, name, target in targets
                if target and first[_normalize(name)] != target
            ),
            anchors=tuple(Link(number, name) for number, name, target in targets if not target),
            unread=tuple(unread),
        ),
    )


def _normalize(name: str) -> str:
    """Return the form in which names of targets are compared."""
    return " ".join(name.split()).casefold()
