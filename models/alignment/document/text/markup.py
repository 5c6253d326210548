"""Removal of Markdown and HTML from headings: `[Round 1](#r1)`, `<b>Muffin</b>`, `Round 2 {#r2}`."""

from __future__ import annotations

from .line_text import one_line, to_ascii_width

_MARKS = frozenset("<[{`~")


def without_markup(text: str) -> str:
    """Return `text` on one line without tags, comments, links, anchors and code marks, in plain letters and digits."""
    text = to_ascii_width(text)
    if not _MARKS.isdisjoint(text):
        text = _without_anchor(_without_links(_without_tags(text)))
        text = text.replace("`", "").replace("~~", "")
    return one_line(text)


def _without_tags(text: str) -> str:
    pieces, last, at = [], 0, text.find("<")
    while at >= 0 and (end := text.find(">", at)) >= 0:
        if text[at + 1 : at + 2].isalpha() or text[at + 1 : at + 2] in ("/", "!"):
            pieces.append(text[last:at])
            last = end + 1
        at = text.find("<", end)
    return "".join([*pieces, text[last:]])


def _without_links(text: str) -> str:
    """Replace `[words](address)` by `words`; also for a heading that is in brackets as a whole."""
    pieces, last, at = [], 0, text.find("](")
    while at >= 0 and (end := text.find(")", at)) >= 0:
        start = text.rfind("[", last, at)
        if start >= 0:
            pieces += [text[last:start].removesuffix("!"), text[start + 1 : at]]
            last = end + 1
        at = text.find("](", end)
    return "".join([*pieces, text[last:]])


def _without_anchor(text: str) -> str:
    """Remove the `{#round-1}` at the end."""
    at = text.rfind("{")
    return text[:at] if at > 0 and text.endswith("}") and text[at + 1 : at + 2] in ("#", ".", ":") else text
