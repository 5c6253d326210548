"""Reader of Markdown, by CommonMark with tables; also of what other dialects add to it.

Code, HTML and front matter are no prose.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.token import Token

from .document import CodeWord, Document, Heading, Labels, Link, Passage

_FRONT_MATTER = re.compile(r"\A(-{3,}|\+{3,})[ \t]*\n(?s:.*?)\n\1[ \t]*(?:\n|\Z)")
#: Attributes after the text of a heading, and a permanent link.
_ATTRIBUTES = re.compile(r"(?:\{[^{}]*\}|¶)\Z")
_COMMENT = re.compile(r"<!--(?s:.*?)(?:-->|\Z)")
#: Targets in HTML, anchors, and links that are not read as links: with a space, or with exchanged brackets.
_HTML_LINK = re.compile(
    r"""<(?:a|img)\s[^<>]{0,2000}?(?<![\w-])(?:href|src)\s*=\s*["']([^"'<>\s]+)["']""", re.IGNORECASE
)
_HTML_ANCHOR = re.compile(
    r"""<(?:\w+\s[^<>]{0,2000}?(?<![\w-])id|a\s[^<>]{0,2000}?(?<![\w-])name)\s*=\s*["']([^"'<>\s]+)["']""",
    re.IGNORECASE,
)
_ANCHOR = re.compile(r"\{:?\s*#([\w.:-]+)")
# The length of a target is limited: another may begin at each of its letters.
_UNREAD = re.compile(
    r"(?<![\d\\])\](?:[ \t]?\([ \t]*https?://|\([ \t]*(?:\.{0,2}/|#(?!\d+\))))[^)\s{<]{0,500}\)"
    r"|\)\[(?:https?://|\.{0,2}/)[^\]\s{<]{0,500}\]"
)
_REFERENCE = re.compile(r"(?<![\w\]!\\])\[[^\[\]\n]+\]\[([^\[\]\n]+)\]")
_MARKDOWN = MarkdownIt("commonmark", {"html": True, "store_labels": True}).enable("table")
# Otherwise escaped brackets would look like those of links.
_MARKDOWN.disable("text_join")
# Otherwise targets would be escaped.
_MARKDOWN.normalizeLink = lambda url: url  # type: ignore[method-assign]

#: Types of tokens with text; the second: escaped signs and entities.
_TEXT = ("text", "text_special")


def read_markdown(text: str) -> Document:
    """Return a document."""
    front = _FRONT_MATTER.match(text)
    source = "\n" * front[0].count("\n") + text[front.end() :] if front else text
    definitions: dict[str, Any] = {}
    tokens = _MARKDOWN.parse(source, definitions)
    reader = _Reader(tokens)
    reader.read()
    targets = definitions.get("references", {})
    unused = (entry for label, entry in targets.items() if label not in reader.used_labels)
    return Document(
        source=source,
        passages=tuple(reader.passages),
        headings=tuple(_headings(tokens)),
        links=(*reader.links, *(Link(entry["map"][0] + 1, entry["href"]) for entry in unused)),
        code_words=tuple(reader.code_words),
        code="\n".join(token.content for token in tokens if token.type in ("fence", "code_block")),
        labels=Labels(
            defined=len(targets),
            undefined=tuple(reader.find(_REFERENCE)),
            redefined=tuple(
                Link(entry["map"][0] + 1, entry["label"].lower())
                for entry in definitions.get("duplicate_refs", ())
                if entry["href"] != targets[entry["label"]]["href"]
            ),
            anchors=(*reader.anchors, *reader.find(_ANCHOR)),
            unread=tuple(reader.find(_UNREAD)),
        ),
    )


class _Reader:
    """Collector of passages, links and code words."""

    def __init__(self, tokens: Sequence[Token]) -> None:
        self.passages: list[Passage] = []
        self.links: list[Link] = []
        self.code_words: list[CodeWord] = []
        self.anchors: list[Link] = []
        #: Labels that links refer to.
        self.used_labels: set[str] = set()
        self._tokens = tokens

    def read(self) -> None:
        """Read all blocks with text."""
        kinds = {"heading_open": "heading", "td_open": "cell", "th_open": "cell"}
        for before, token in zip(self._tokens, self._tokens[1:], strict=False):
            if token.type == "inline" and token.map is not None:
                self._read_block(kinds.get(before.type, "paragraph"), token.map[0] + 1, token.children or ())
        for token in self._tokens:
            if token.type == "html_block" and token.map is not None:
                self._read_html(token.content, token.map[0] + 1)

    def find(self, pattern: re.Pattern[str]) -> Iterator[Link]:
        """Yield the matches of a pattern in the prose: its first group, or all of it."""
        for passage in self.passages:
            yield from _find_links(pattern, passage.prose, passage.line)

    def _read_html(self, text: str, line: int) -> None:
        text = _COMMENT.sub(lambda comment: "\n" * comment[0].count("\n"), text)
        self.links.extend(_find_links(_HTML_LINK, text, line))
        self.anchors.extend(_find_links(_HTML_ANCHOR, text, line))

    def _read_block(self, kind: str, line: int, children: Sequence[Token]) -> None:
        parts, number = list[str](), line
        for child in children:
            self.used_labels.update(filter(None, [child.meta.get("label")]))
            if child.type in ("softbreak", "hardbreak"):
                parts.append("\n")
                number += 1
            elif child.type == "code_inline":
                self.code_words.append(CodeWord(number, child.content))
                parts.append(f"`{child.content.replace('`', ' ')}`")
            elif child.type == "link_open":
                self.links.append(Link(number, str(child.attrGet("href") or "")))
            elif child.type == "image":
                self.links.append(Link(number, str(child.attrGet("src") or "")))
            elif child.type == "html_inline":
                self._read_html(child.content, number)
            elif child.type in _TEXT:
                is_escaped = child.type == "text_special" and child.content in ("[", "]")
                text = f"\\{child.content}" if is_escaped else child.content
                # Backticks that begin no code must not look as if they did; an entity may be a line break.
                parts.append(text.replace("`", "'").replace("\n", " "))
        self.passages.append(Passage(kind, line, tuple("".join(parts).split("\n"))))


def _find_links(pattern: re.Pattern[str], text: str, line: int) -> Iterator[Link]:
    """Yield the matches of a pattern in a text that begins in this line: its first group, or all of it."""
    end = 0
    for hit in pattern.finditer(text):
        start = hit.start(hit.lastindex or 0)
        line += text.count("\n", end, start)
        end = start
        yield Link(line, hit[hit.lastindex or 0])


def _headings(tokens: Sequence[Token]) -> Iterator[Heading]:
    for index, token in enumerate(tokens):
        if token.type != "heading_open" or token.map is None or token.level:
            continue
        level = int(token.tag[1:])
        follows = tokens[index + 3] if index + 3 < len(tokens) else None
        is_last = follows is None or (follows.type == "heading_open" and int(follows.tag[1:]) <= level)
        text = _ATTRIBUTES.sub("", _plain(tokens[index + 1]).rstrip()).rstrip()
        yield Heading(token.map[0] + 1, level, text, is_last or not text.strip())


def _plain(inline: Token) -> str:
    """Return the text of a heading, without its markup."""
    return "".join(child.content for child in inline.children or () if child.type in (*_TEXT, "code_inline"))
