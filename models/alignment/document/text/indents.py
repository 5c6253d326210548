"""Indented code: four columns in front of a line make it code, unless it carries on a paragraph or a list.

Source: CommonMark 0.31, "Indented code blocks".
"""

from __future__ import annotations

_COLUMNS = 4
_BULLETS = ("-", "*", "+", "•")


class Indents:
    """Takes the lines outside fences and comments, and marks those that are indented code."""

    def __init__(self) -> None:
        #: A blank line, or code, came last; nothing at all has come before the first line.
        self._open = True
        self._in_list = False

    def hides(self, text: str) -> bool:
        """Return True for a line of indented code. A blank line is not code."""
        body = text.lstrip(" \t")
        if not body or body.isspace():
            self._open = True
            return False
        indent = text[: len(text) - len(body)]
        if self._open and not self._in_list and is_code_indent(indent):
            return True
        self._in_list = is_item(body) or (self._in_list and (bool(indent) or not self._open))
        self._open = False
        return False


def is_code_indent(indent: str) -> bool:
    """Return True for as much white space as makes code of a line."""
    return len(indent) >= _COLUMNS or "\t" in indent


def is_item(body: str) -> bool:
    """Return True for an item of a list; a backslash that protects its line takes nothing from that."""
    bullet = body.lstrip("\\").partition(" ")[0] if body[0] in "-*+•\\0123456789" else ""
    return bullet in _BULLETS or (bullet[-1:] in (".", ")") and bullet[:-1].isdecimal() and len(bullet) < 11)
