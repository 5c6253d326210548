"""Text in which every character is visible, for pages that show what models and people wrote.

A browser obeys controls of the writing direction, and hides escape sequences. Both can make a text read as
another one, so the page shows them as text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from pydantic import JsonValue

#: All controls except tab and line feed; controls of the writing direction, separators, invisible formatting, tags.
_INVISIBLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff"
    "\ufff9-\ufffb\U000e0000-\U000e007f\ud800-\udfff]"
)
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


def _picture(found: re.Match[str]) -> str:
    code = ord(found[0])
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
