"""Values of inputs in the texts of a session file: `{name}` becomes the value. Pure.

The document is parsed before, and each text is read once: a value is never read as YAML, and braces in a value have
no meaning. Only texts that a person writes for people and models are read; identifiers and numbers are not.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ..errors import InvalidInput
from .inputs import FIELD, NO_NAME, InputValue, choose_values, read_inputs, render_value

#: Returns another text for a text and the path of its field.
ChangeText = Callable[[str, str], str]

_TEXTS = ("title", "purpose")
#: Fields with JSON data whose texts are changed at any depth; keys are not.
_DATA = ("parameters", "said", "defaults")
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
    return fill_texts({name: value for name, value in document.items() if name != FIELD}, values), values


def fill_texts(document: Mapping[str, Any], values: Mapping[str, InputValue]) -> dict[str, Any]:
    """Return a session, or changes of one, with the values of inputs in its texts.

    Raises:
        InvalidInput: A text breaks a rule.
    """
    texts = {name: render_value(value) for name, value in values.items()}
    return _map_texts(document, _Filler(texts, ", ".join(texts) or NO_NAME).fill)


def check_texts(document: Mapping[str, Any]) -> None:
    """Check the declarations of inputs, and that the texts name no others.

    Raises:
        InvalidInput: A declaration or a text breaks a rule.
    """
    inputs = read_inputs(document)
    if FIELD in document:
        fill_texts(document, dict.fromkeys((declared.name for declared in inputs), ""))


def escape_texts(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return a session whose texts have no marks: `fill_texts` returns it as it was."""
    return _map_texts(document, lambda text, _: text.replace("{", "{{").replace("}", "}}"))


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


def _map_texts(document: Mapping[str, Any], change: ChangeText) -> dict[str, Any]:
    """Return a session file with each of its texts changed, those of the sub-sessions inside it, too."""
    return _Mapper(change).document(document)


@dataclass(frozen=True, slots=True)
class _Mapper:
    """Changes the texts of a document."""

    change: ChangeText

    def document(self, document: Mapping[str, Any], where: str = "") -> dict[str, Any]:
        """Return the document of a session, or of a sub-session inside it; `where` is the path of its fields."""
        whole = dict(document)
        for name in (name for name in _TEXTS if name in whole):
            whole[name] = self._text(whole[name], where + name)
        for name in (name for name in _DATA if name in whole):
            whole[name] = self._data(whole[name], where + name)
        if isinstance(messages := whole.get("messages"), list):
            whole["messages"] = [
                self._item(message, f"{where}messages[{i}]", texts=("content",))
                for i, message in enumerate(messages)
            ]
        if isinstance(participants := whole.get("participants"), list):
            whole["participants"] = [
                self._participant(participant, f"{where}participants[{i}]")
                for i, participant in enumerate(participants)
            ]
        if isinstance(agents := whole.get("agents"), Mapping):
            whole["agents"] = {
                name: self._binding(binding, f"{where}agents.{name}") for name, binding in agents.items()
            }
        if isinstance(options := whole.get("options"), Mapping) and isinstance(
            items := options.get("items"), list
        ):
            read = [
                self._item(item, f"{where}options.items[{i}]", texts=("text",), data=("data",))
                for i, item in enumerate(items)
            ]
            whole["options"] = {**options, "items": read}
        return whole

    def _participant(self, entry: Any, where: str) -> Any:
        if not isinstance(entry, Mapping):
            return entry
        whole = self._table(entry, where, texts=("display_name",))
        if "agent" in whole:
            whole["agent"] = self._binding(whole["agent"], f"{where}.agent")
        return whole

    def _binding(self, entry: Any, where: str) -> Any:
        return self._table(entry, where, texts=("instructions",), data=("parameters",))

    def _table(self, entry: Any, where: str, *, texts: tuple[str, ...], data: tuple[str, ...] = ()) -> Any:
        """Return a table with its texts, its data, and the sub-session in it filled."""
        if not isinstance(entry, Mapping):
            return entry
        whole = dict(entry)
        whole |= {name: self._text(whole[name], f"{where}.{name}") for name in texts if name in whole}
        whole |= {name: self._data(whole[name], f"{where}.{name}") for name in data if name in whole}
        if isinstance(session := whole.get("session"), Mapping):
            whole["session"] = self.document(session, f"{where}.session.")
        return whole

    def _item(self, entry: Any, where: str, *, texts: tuple[str, ...], data: tuple[str, ...] = ()) -> Any:
        """Return an item of a list: a text, or a table."""
        if isinstance(entry, Mapping):
            return self._table(entry, where, texts=texts, data=data)
        return self._text(entry, where)

    def _data(self, data: Any, where: str) -> Any:
        if isinstance(data, Mapping):
            return {name: self._data(item, f"{where}.{name}") for name, item in data.items()}
        if isinstance(data, list):
            return [self._data(item, f"{where}[{i}]") for i, item in enumerate(data)]
        return self._text(data, where)

    def _text(self, text: Any, where: str) -> Any:
        return self.change(text, where) if isinstance(text, str) else text
