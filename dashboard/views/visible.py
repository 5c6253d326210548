"""Text in which every character is visible, for pages that show what models and people wrote.

A browser obeys controls of the writing direction, and hides escape sequences. Both can make a text read as
another one, so the page shows them as text. The server does this where it makes HTML or Markdown nodes of a text.
Elsewhere the page does it (`makeVisible` in `static/page.js`), with the same characters.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from html import escape

from pydantic import JsonValue

#: First and last character of each range: all controls except tab and line feed; controls of the writing direction,
#: separators, invisible formatting, lone surrogates, tags.
_RANGES = (
    (0x00, 0x08),
    (0x0B, 0x1F),
    (0x7F, 0x9F),
    (0xAD, 0xAD),
    (0x061C, 0x061C),
    (0x180E, 0x180E),
    (0x200B, 0x200B),
    (0x200E, 0x200F),
    (0x2028, 0x202E),
    (0x2060, 0x206F),
    (0xD800, 0xDFFF),
    (0xFEFF, 0xFEFF),
    (0xFFF9, 0xFFFB),
    (0xE0000, 0xE007F),
)
_INVISIBLE = re.compile("[{}]".format("".join(rf"\U{first:08x}-\U{last:08x}" for first, last in _RANGES)))
#: The same as a regular expression of JavaScript, for the flag `u`.
INVISIBLE_IN_PAGES = "[{}]".format("".join(rf"\u{{{first:x}}}-\u{{{last:x}}}" for first, last in _RANGES))
#: Pictures of the controls below U+0020, in the order of the controls.
_PICTURES = 0x2400


def make_visible(text: str) -> str:
    r"""Return `text` with `␛` for ESC and `\u202e` for a control of the writing direction.

    Args:
        text: Any text, also with lone surrogates.

    Returns:
        The text; the same for a text that was made visible before.
    """
    if text.isascii() and text.isprintable():
        return text
    return _INVISIBLE.sub(_picture, text.replace("\r\n", "\n"))


def escape_visible(value: object) -> str:
    """Return a value as HTML text in which every character is visible, for templates."""
    text = value.decode() if isinstance(value, bytes) else str(value)
    return escape(make_visible(text))


def _picture(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < ord(" "):
        return chr(_PICTURES + code)
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def make_fields_visible(data: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Return a JSON object with every text in it, names of fields included, made visible."""
    return {make_visible(name): _make_value_visible(part) for name, part in data.items()}


def _make_value_visible(value: JsonValue) -> JsonValue:
    match value:
        case str():
            return make_visible(value)
        case list():
            return [_make_value_visible(part) for part in value]
        case dict():
            return make_fields_visible(value)
        case _:
            return value
