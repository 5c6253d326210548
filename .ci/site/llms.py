"""llms.txt (a line for each page) and llms-full.txt (the text of all pages) of the documentation site."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

_HEADING_OR_BLOCK = re.compile(r"^(#|```|!\[|\||- |<!--|\s*$)")
_LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s")


@dataclass(frozen=True)
class Entry:
    """One page of the navigation."""

    section: str
    title: str
    path: str
    markdown: str


def render_index(name: str, description: str, entries: Iterable[Entry]) -> str:
    """Return the text of llms.txt."""
    return "\n".join([f"# {name}", "", f"> {description}", *_sections(entries), ""])


def render_full(entries: Iterable[Entry]) -> str:
    """Return the text of llms-full.txt."""
    return "\n".join(f"<!-- {entry.path} -->\n\n{entry.markdown.strip()}\n" for entry in entries)


def summarize(markdown: str) -> str:
    """Return the first sentence of the first paragraph; an empty text if there is none."""
    paragraphs = re.sub(r"^```.*?^```", "", markdown, flags=re.DOTALL | re.MULTILINE).split("\n\n")
    first = next(
        (paragraph for paragraph in paragraphs if not _HEADING_OR_BLOCK.match(paragraph.strip("\n"))), ""
    )
    plain = " ".join(_LINK.sub(r"\1", first).replace("**", "").split())
    return _SENTENCE_END.split(plain)[0].rstrip(":")


def _sections(entries: Iterable[Entry]) -> Iterator[str]:
    section = None
    for entry in entries:
        if entry.section != section:
            yield from ("", f"## {entry.section}", "")
            section = entry.section
        yield f"- [{entry.title}]({entry.path}): {summarize(entry.markdown)}".rstrip(": ")
