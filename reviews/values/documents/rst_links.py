"""Links and labels of reStructuredText, as far as they can be read without docutils."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence

from .document import Heading, Labels, Link

#: A target; an indented one may be an example in a literal block.
_TARGET = re.compile(r"(\s*)\.\. _(?:`([^`]+)`|([^:`\s][^:`]*)):(?:\s+(\S.*))?")
_UNREAD_TARGET = re.compile(r"\.\. _[\w-]+\s*")
#: An embedded target, with its underscore; without one, the text is no link.
_EMBEDDED = re.compile(r"(?<![`:\w])`([^`<>]*)<([^`<>\s]+)>`(_{0,2})(?!`)")
_NAMED = re.compile(r"(?<![`:\w])`([^`<>]+)`_(?![`\w])")
_INLINE_TARGET = re.compile(r"(?<![`\w])_`([^`]+)`")
_NAME_OPTION = re.compile(r"\s+:name:\s+(\S.*)")
_MARKDOWN_LINK = re.compile(r"\]\(https?://[^)\s]{0,500}\)")


def read_links(
    lines: Sequence[str], body: str, headings: Sequence[Heading]
) -> tuple[tuple[Link, ...], Labels]:
    """Return the links and labels of a document; `body`: its text without blocks and code, line by line."""
    written = [(number, match) for number, line in enumerate(lines, 1) if (match := _TARGET.fullmatch(line))]
    targets = [
        (number, match[2] or match[3], (match[4] or "").strip()) for number, match in written if not match[1]
    ]
    ends = [match.start() for match in re.finditer("\n", body)]

    def line_of(match: re.Match[str]) -> int:
        return bisect_left(ends, match.start()) + 1

    embedded = [(line_of(match), match[1], match[2], match[3]) for match in _EMBEDDED.finditer(body)]
    named = [(number, name, target) for number, name, target, sign in embedded if sign == "_"]
    first: dict[str, str] = {}
    for _, name, target in sorted([*targets, *named]):
        first.setdefault(_normalize(name), target)
    others = [
        *(heading.text for heading in headings),
        *(match[2] or match[3] for _, match in written if match[1]),
        *_INLINE_TARGET.findall(body),
        *(match[1] for line in lines if (match := _NAME_OPTION.fullmatch(line))),
    ]
    names = first.keys() | set(map(_normalize, others))
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
                if _normalize(match[1]) not in names
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
