"""Values of inputs in the texts of a session file: `{name}` becomes the value. Pure.

The document is parsed before, and each text is read once: a value is never read as YAML, and braces in a value have
no meaning. Only texts that a person writes for people and models are read; identifiers and numbers are not.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..errors import InvalidInput
from .inputs import FIELD, NO_NAME, InputValue, choose_values, read_inputs, render_value
from .session_texts import map_texts

#: Maximum characters of all texts of a file with the values in them.
MAX_TOTAL_CHARS = 16 * 1024 * 1024
_MARK = re.compile(r"\{\{|\}\}|\{(?P<name>[^{}]*)\}|[{}]")
_LONE = "must be closed as `{name}`, or be written `{{` or `}}`: a brace names an input"


def fill_inputs(document: Mapping[str, Any], given: object) -> tuple[dict[str, Any], dict[str, InputValue]]:
    """Return a session file with the values of its inputs in its texts, and these values.

    A file without `inputs` is returned as it is.

    Args:
        document: The parsed file.
        given: Values by name. None: no values.

    Raises:
        InvalidInput: A declaration, a value or a text breaks a rule.
    """
    values = choose_values(read_inputs(document), given)
    if FIELD not in document:
        return dict(document), values
    return fill_texts({name: it for name, it in document.items() if name != FIELD}, values), values


def fill_texts(document: Mapping[str, Any], values: Mapping[str, InputValue]) -> dict[str, Any]:
    """Return a session, or changes of one, with the values of inputs in its texts.

    Raises:
        InvalidInput: A text breaks a rule.
    """
    texts = {name: render_value(value) for name, value in values.items()}
    return map_texts(document, _Filler(texts, ", ".join(texts) or NO_NAME).fill)


def check_texts(document: Mapping[str, Any]) -> None:
    """Check the declarations of inputs, and that the texts name no others.

    Raises:
        InvalidInput: A declaration or a text breaks a rule.
    """
    inputs = read_inputs(document)
    if FIELD in document:
        fill_texts(document, dict.fromkeys((it.name for it in inputs), ""))


def escape_texts(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return a session whose texts have no marks: `fill_texts` returns it as it was."""
    return map_texts(document, lambda text, _: text.replace("{", "{{").replace("}", "}}"))


@dataclass(slots=True)
class _Filler:
    """Replaces `{name}` in texts."""

    values: Mapping[str, str]
    #: Names of the inputs, for messages.
    known: str
    #: Characters that further texts may have.
    left: int = MAX_TOTAL_CHARS

    def fill(self, text: str, where: str) -> str:
        """Return a text with the values in it; `where` is the path of its field."""
        parts: list[str] = []
        end = 0
        for mark in _MARK.finditer(text):
            self._add(parts, text[end : mark.start()], where)
            self._add(parts, self._meaning(mark, text, where), where)
            end = mark.end()
        self._add(parts, text[end:], where)
        return "".join(parts)

    def _add(self, parts: list[str], part: str, where: str) -> None:
        self.left -= len(part)
        if self.left < 0:
            rule = (
                f"must leave the texts of the file at {MAX_TOTAL_CHARS} characters, with the values of inputs"
            )
            raise InvalidInput(where, part, rule)
        parts.append(part)

    def _meaning(self, mark: re.Match[str], text: str, where: str) -> str:
        name = mark["name"]
        if name in self.values:
            return self.values[name]
        if name is not None:
            rule = f"must be the name of an input (known: {self.known}); write braces as `{{{{` and `}}}}`"
            raise InvalidInput(where, mark[0], rule)
        if len(mark[0]) == 1:
            raise InvalidInput(where, text[mark.start() :], _LONE)
        return mark[0][0]
