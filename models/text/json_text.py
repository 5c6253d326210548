"""JSON text that is safe to print: no character in it commands a terminal or ends a line."""

from __future__ import annotations

import json
import re

#: DEL and C1 controls (U+009B starts terminal commands), controls of the writing direction, separators of lines and
#: paragraphs, invisible formatting and tags. JSON itself escapes the controls below U+0020.
_UNSAFE = re.compile(
    "[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)


def json_text(data: object, *, indent: int | None = None) -> str:
    r"""Return `data` as JSON; other scripts stay readable, unsafe characters are written as `\uXXXX`.

    Lone surrogates, which UTF-8 cannot carry, become question marks.

    Args:
        data: Anything that `json.dumps` takes.
        indent: Spaces of each level; None writes one line.
    """
    text = json.dumps(data, ensure_ascii=False, indent=indent)
    return _UNSAFE.sub(_escape, text.encode(errors="replace").decode())


def _escape(character: re.Match[str]) -> str:
    return json.dumps(character[0])[1:-1]
