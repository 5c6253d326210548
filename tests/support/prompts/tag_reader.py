"""Strict reader of the tags in a prompt. It knows nothing of how they are written and escaped."""

from __future__ import annotations

import re
import unicodedata

NAMES = ("task", "message", "note", "turn", "seat", "panel", "file", "change")
_TAG = re.compile(rf"<(/?)({'|'.join(NAMES)})((?: [a-z]+=\"[^\"<>\n]*\")*)>")
#: What a careless reader might take for a tag, in a text after NFKC, casefold and removal of invisible characters.
_SEEMS = re.compile(
    rf"<\s{{0,3}}/\s{{0,3}}(?:{'|'.join(NAMES)})\b|<\s{{0,3}}(?:{'|'.join(NAMES)})\s[^<>]*=|^\s*<(?:{'|'.join(NAMES)})>",
    re.MULTILINE,
)


def read_tags(prompt: str) -> list[str]:
    """Return the tags on lines of their own, in order: `task`, `/task`, ...

    Raises:
        AssertionError: The tags are not nested.
    """
    matches = [match for line in prompt.split("\n") if (match := _TAG.fullmatch(line))]
    tags = [match[1] + match[2] for match in matches]
    open_tags: list[str] = []
    for tag in tags:
        if tag.startswith("/"):
            assert open_tags[-1:] == [tag[1:]], f"{tag} closes nothing"
            open_tags.pop()
        else:
            open_tags.append(tag)
    assert not open_tags, f"not closed: {open_tags}"
    return tags


def seeming_tags(text: str) -> list[str]:
    """Return what looks like a tag to a careless reader."""
    plain = unicodedata.normalize("NFKC", text).casefold()
    return _SEEMS.findall("".join(c for c in plain if unicodedata.category(c) != "Cf"))
