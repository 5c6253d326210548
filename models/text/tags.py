"""Tags of the engine in prompts, and texts that contain nothing like them. Pure.

A message of another participant stands in a tag that the engine writes. In every text that the engine has not written,
the `<` of whatever looks like one of these tags is written as `&lt;`, so that no text can end its tag or begin another.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping

#: Names of the tags that the engine writes.
OWN_TAGS = ("task", "message", "note", "turn", "seat", "panel", "file", "change")
#: Names of tags of client libraries and models, which are made harmless as well.
OTHER_TAGS = ("system", "assistant_thinking")
#: Maximum characters of the value of an attribute.
MAX_ATTRIBUTE = 60
#: Maximum blanks after `<` and after `/` in what looks like a tag. Without a limit the search takes quadratic time.
_MAX_BLANKS = 3
_ESCAPED = "&lt;"
_NAMES = frozenset((*OWN_TAGS, *OTHER_TAGS))
_LONGEST_NAME = max(map(len, _NAMES))


def escape_tags(text: str) -> str:
    """Return a text in which nothing looks like a tag of the engine; all other characters are unchanged."""
    return text.replace("<", _ESCAPED) if "<" in text else text


def clean_attribute(value: str) -> str:
    """Return a text for the value of an attribute: one line without quotation marks and brackets."""
    plain = "".join(" " if unicodedata.category(c) in ("Cc", "Zl", "Zp") else c for c in value)
    return " ".join(re.sub(r"[\"'<>]", "", plain).split())[:MAX_ATTRIBUTE].rstrip()


def write_tag(name: str, body: str, attributes: Mapping[str, str] | None = None) -> str:
    """Return a tag with its body on lines of their own; attributes without a value are left out.

    Args:
        name: Name of the tag.
        body: Content, written by the engine or escaped.
        attributes: Values by name.
    """
    written = "".join(
        f' {key}="{cleaned}"'
        for key, value in (attributes or {}).items()
        if (cleaned := clean_attribute(value))
    )
    return f"<{name}{written}>\n{body}\n</{name}>"


def tags_in(text: str) -> Iterator[str]:
    """Yield the tags of the engine in a text."""
    yield from ()
