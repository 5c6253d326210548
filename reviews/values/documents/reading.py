"""Reader of documents by their name, the reader of reStructuredText, and the targets of links.

Of reStructuredText: paragraphs, headings and files that directives name. Only what can be read without docutils;
everything indented after a directive or `::` is no prose.

Source: docutils, reStructuredText Markup Specification.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from posixpath import normpath
from typing import NamedTuple
from urllib.parse import unquote

from .document import CodeWord, Document, Heading, Link, Passage
from .rst_links import read_links

_ADORNMENT = re.compile(r"([^\w\s])\1{2,}\s*")
_DIRECTIVE = re.compile(r"\s*\.\.(?:\s|$)")
_FILE = re.compile(r"\s*\.\. (?:image|figure|include|literalinclude):: +(\S+)")
_LITERAL = re.compile(r"``(.+?)``")
_ROLE = re.compile(r":[\w:+-]{1,100}:`([^`]*)`|`([^`]*)`_{0,2}")


def read_restructured(text: str) -> Document:
    """Return a document."""
    lines = text.split("\n")
    prose = _without_blocks(lines)
    places = list(_heading_places(lines))
    titles = {number for number, *_ in places}
    borders = {number for title, first, _ in places for number in (title - 1, title + 1) if number >= first}
    passages = list(_passages([("" if n in titles | borders else line) for n, line in enumerate(prose)]))
    headings = tuple(_headings(lines, places))
    body = _LITERAL.sub(lambda literal: "\n" * literal[0].count("\n"), "\n".join(prose))
    links, labels = read_links(lines, body, headings)
    return Document(
        source=text,
        passages=tuple(passages),
        headings=headings,
        links=(
            *(Link(n, match[1]) for n, line in enumerate(lines, 1) if (match := _FILE.match(line))),
            *links,
        ),
        labels=labels,
        code_words=tuple(
            CodeWord(n, word) for n, line in enumerate(prose, 1) for word in _LITERAL.findall(line)
        ),
        code="\n".join(line for line, kept in zip(lines, prose, strict=True) if not kept),
    )


def _without_blocks(lines: Sequence[str]) -> list[str]:
    """Return the lines; those of directives, comments and literal blocks are empty."""
    kept, above = list[str](), -1
    for line in lines:
        indent = len(line) - len(line.lstrip())
        if above >= 0 and (not line.strip() or indent > above):
            kept.append("")
            continue
        above = indent if _DIRECTIVE.match(line) or line.rstrip().endswith("::") else -1
        kept.append("" if _DIRECTIVE.match(line) else line)
    return kept


def _heading_places(lines: Sequence[str]) -> Iterator[tuple[int, int, str]]:
    """Yield the index of each title, that of its first line, and its adornment; `==` for one above it, too."""
    for number in range(1, len(lines)):
        under, title = lines[number], lines[number - 1]
        match = _ADORNMENT.fullmatch(under)
        if not match or not title.strip() or title[0].isspace() or _ADORNMENT.fullmatch(title):
            continue
        if len(under.rstrip()) < len(title.rstrip()):
            continue
        over = number > 1 and lines[number - 2].rstrip() == under.rstrip()
        if over or number == 1 or not lines[number - 2].strip():
            yield number - 1, number - 2 if over else number - 1, match[1] * (1 + over)


def _headings(lines: Sequence[str], places: Sequence[tuple[int, int, str]]) -> Iterator[Heading]:
    order = list(dict.fromkeys(sign for *_, sign in places))
    for index, (title, _, sign) in enumerate(places):
        level = order.index(sign) + 1
        following = places[index + 1] if index + 1 < len(places) else None
        end = len(lines) if following is None else following[1]
        has_text = any(line.strip() for line in lines[title + 2 : end])
        is_last = following is None or order.index(following[2]) + 1 <= level
        yield Heading(title + 1, level, lines[title].strip(), is_last and not has_text)


def _passages(lines: Sequence[str]) -> Iterator[Passage]:
    start, gathered = 0, list[str]()
    for number, line in enumerate([*lines, ""], 1):
        starts_item = re.match(r"\s*(?:[-*+•]|\w+[.)]|#\.|:[\w -]+:|\|)\s", line) is not None
        is_table = re.match(r"\s*(?:\+[-=+]+|[=-]{3,}(?:\s+[=-]{3,})*)\s*$", line) is not None
        if gathered and (not line.strip() or starts_item or is_table):
            yield Passage("paragraph", start, tuple(gathered))
            gathered = []
        if line.strip() and not is_table:
            start = start if gathered else number
            gathered.append(_ROLE.sub(_code, _LITERAL.sub(r"`\1`", line)))


def _code(match: re.Match[str]) -> str:
    return f"`{match[1] or match[2] or ''}`"


#: Ends of the names of documents.
DOCUMENT_SUFFIXES = (".md", ".markdown", ".rst", ".txt")
#: Ends of the names of files that a documentation is built from; others may exist only after it was built.
_SOURCE_SUFFIXES = (
    *(*DOCUMENT_SUFFIXES, ".py", ".pyi", ".toml", ".yml", ".yaml", ".json", ".cfg", ".ini", ".sh", ".ts"),
    *(".js", ".jsx", ".tsx", ".go", ".rs", ".java", ".c", ".h", ".cpp", ".png", ".jpg", ".jpeg", ".gif"),
    *(".svg", ".webp", ".ipynb"),
)


def read_document(text: str, *, path: str) -> Document:
    """Return a document: reStructuredText if the path ends with `.rst`, else Markdown."""
    if path.endswith(".rst"):
        return read_restructured(text)
    from .markdown import read_markdown  # imports the parser

    return read_markdown(text)


class RelativeLink(NamedTuple):
    """A link to a file of the same root."""

    link: Link
    #: Path of the file, relative to the root.
    path: str
    anchor: str


def relative_links(document: Document, *, path: str) -> Iterator[RelativeLink]:
    """Yield the links to files of the same root, as written in a document at `path`.

    Links to addresses, into the document, out of the root, to places of a web site, and to files that only
    exist after a build are left out.
    """
    folder = path.rpartition("/")[0]
    for link in document.links:
        target = link.target.strip()
        name, _, anchor = target.partition("#")
        name = name.partition("?")[0]
        if not name or name.startswith("/") or any(sign in target for sign in ":{}<>*$|\\\0"):
            continue
        resolved = normpath(f"{folder}/{unquote(name)}" if folder else unquote(name))
        if resolved.startswith("..") or not resolved.endswith(_SOURCE_SUFFIXES):
            continue
        yield RelativeLink(link, resolved, unquote(anchor))
