"""Tags of the engine in prompts, and texts that contain nothing like them. Pure.

A message of another participant stands in a tag that the engine writes, each tag on a line of its own. In every text
that the engine has not written, the `<` of a look-alike of such a tag is written as `&lt;`, so no text can end its tag
or begin another.

Look-alikes are compared after NFKC, casefold and removal of invisible characters (category Cf):

- a closing tag, anywhere;
- an opening tag with an attribute, anywhere;
- an opening tag without attributes that has nothing but blanks and quotation marks before it on its line.

So `List<File>` and `Vec<Turn>` stay as they are.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from functools import lru_cache

#: Names of the tags that the engine writes.
OWN_TAGS = ("task", "message", "note", "turn", "seat", "panel", "file", "change")
#: Names of tags of client libraries, which are made harmless as well.
OTHER_TAGS = ("system", "assistant_thinking")
#: Maximum characters of the value of an attribute.
MAX_ATTRIBUTE = 60
#: Maximum blanks after `<` and after `/` in a look-alike. Without a limit the search takes quadratic time.
_MAX_BLANKS = 3
_NAMES = frozenset((*OWN_TAGS, *OTHER_TAGS))
#: `<`, and the characters that NFKC turns into it, before what may be a tag.
_CANDIDATES = re.compile(
    r"[<\ufe64\uff1c](?=[/\s{}]|[^\x00-\x7f])".format("".join({name[0] for name in _NAMES})),
    re.IGNORECASE,
)
_LINE_BREAKS = frozenset("\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029")
_QUOTES = frozenset("\"'`>\u00ab\u00bb\u2018\u2019\u201a\u201c\u201d\u201e\u2039\u203a")
_OF_A_NAME = frozenset("_-.:")
#: Invisible characters that join letters and emoji: names keep them.
_JOINERS = "\u200c\u200d"


def escape_tags(text: str) -> str:
    """Return a text in which nothing looks like a tag of the engine; all other characters are unchanged."""
    parts, end = [], 0
    for match in _CANDIDATES.finditer(text):
        at = match.start()
        if _is_tag(text, at):
            parts += [text[end:at], "&lt;"]
            end = at + 1
    return "".join([*parts, text[end:]]) if parts else text


def _is_tag(text: str, at: int) -> bool:
    """Return whether a tag of the engine seems to begin at an index. The text is read up to the next `<`."""
    characters = _plain_characters(text, at + 1)
    character = _skip_blanks(characters)
    is_closing = character == "/"
    if is_closing:
        character = _skip_blanks(characters)
    name, character = _read_name(characters, character)
    if name not in _NAMES:
        return False
    if is_closing:
        return True
    character = _skip_separators(characters, character)
    if character == ">":
        return _begins_line(text, at)
    return _has_value(characters, character)


def _has_value(characters: Iterator[str], character: str) -> bool:
    """Return whether attributes begin with a character of which one has a value."""
    while True:
        name, character = _read_name(characters, character)
        character = _skip_separators(characters, character)
        if not name or character == "=":
            return bool(name)


def _skip_separators(characters: Iterator[str], character: str) -> str:
    while character and (character.isspace() or character == "/"):
        character = next(characters, "")
    return character


def _begins_line(text: str, at: int) -> bool:
    """Return whether only blanks and quotation marks stand before an index on its line."""
    for index in range(at - 1, -1, -1):
        character = text[index]
        if character in _LINE_BREAKS:
            return True
        if not (character.isspace() or character in _QUOTES or unicodedata.category(character) == "Cf"):
            return False
    return True


def _read_name(characters: Iterator[str], character: str) -> tuple[str, str]:
    """Return the name that begins with a character, and the character after it; empty: the end of the text."""
    name = []
    while character and (character.isalnum() or character in _OF_A_NAME):
        name.append(character)
        character = next(characters, "")
    return "".join(name), character


def _skip_blanks(characters: Iterator[str]) -> str:
    """Return the character after at most `_MAX_BLANKS` blanks; empty: there is none."""
    for _ in range(_MAX_BLANKS):
        character = next(characters, "")
        if not character.isspace():
            return character
    return next(characters, "")


def _plain_characters(text: str, at: int) -> Iterator[str]:
    """Yield the characters from an index in the form in which they are compared, up to the next `<`."""
    for index in range(at, len(text)):
        for character in _compared(text[index]):
            if character == "<":
                return
            yield character


@lru_cache(maxsize=4_096)
def _compared(character: str) -> str:
    plain = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", character).casefold())
    return "".join(c for c in plain if unicodedata.category(c) != "Cf")


def clean_attribute(value: str) -> str:
    """Return a text for the value of an attribute: one line without quotation marks, brackets and controls."""
    plain = "".join(character for character in value if _compared(character) not in _NOT_IN_ATTRIBUTES)
    return _one_line(plain)[:MAX_ATTRIBUTE].rstrip()


_NOT_IN_ATTRIBUTES = frozenset("\"'<>")


def clean_line(text: str, max_characters: int) -> str:
    """Return a text as a part of a line of the engine: one line, with harmless tags, and cut."""
    line = _one_line(text)
    return escape_tags(line if len(line) <= max_characters else f"{line[: max_characters - 3].rstrip()}...")


def _one_line(text: str) -> str:
    """Return a text as one line without controls and invisible characters, such as those that turn the direction."""
    kept = []
    for character in text:
        category = unicodedata.category(character)
        if category in ("Cc", "Zl", "Zp"):
            kept.append(" ")
        elif category not in ("Cf", "Cs") or character in _JOINERS:
            kept.append(character)
    return " ".join("".join(kept).split())


def write_tag(name: str, body: str, attributes: Mapping[str, str] | None = None) -> str:
    """Return a tag with its body; both tags have lines of their own, and empty attributes are left out.

    Args:
        name: Name of the tag.
        body: Content, written by the engine or escaped.
        attributes: Values by name.
    """
    cleaned = {key: clean_attribute(value) for key, value in (attributes or {}).items()}
    written = "".join(f' {key}="{value}"' for key, value in cleaned.items() if value)
    return f"<{name}{written}>\n{body}\n</{name}>"
