"""The texts of a session file that a person writes for people and models: each is changed in its place. Pure.

Identifiers, numbers and keys are no such texts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

#: Returns another text for a text and the path of its field.
ChangeText = Callable[[str, str], str]

_TEXTS = ("title", "purpose")
#: Fields with JSON data whose texts are changed at any depth; keys are not.
_DATA = ("parameters", "said", "defaults")


def map_texts(document: Mapping[str, Any], change: ChangeText) -> dict[str, Any]:
    """Return a session file with each of its texts changed, those of the sub-sessions inside it, too."""
    return _Mapper(change).document(document)


@dataclass(frozen=True, slots=True)
class _Mapper:
    """Changes the texts of a document."""

    change: ChangeText

    def document(self, document: Mapping[str, Any], where: str = "") -> dict[str, Any]:
        """Return the document of a session, or of a sub-session inside it; `where` is the path of its fields."""
        whole = dict(document)
        for name in (it for it in _TEXTS if it in whole):
            whole[name] = self._text(whole[name], where + name)
        for name in (it for it in _DATA if it in whole):
            whole[name] = self._data(whole[name], where + name)
        if isinstance(messages := whole.get("messages"), list):
            whole["messages"] = [
                self._item(it, f"{where}messages[{i}]", texts=("content",)) for i, it in enumerate(messages)
            ]
        if isinstance(participants := whole.get("participants"), list):
            whole["participants"] = [
                self._participant(it, f"{where}participants[{i}]") for i, it in enumerate(participants)
            ]
        if isinstance(agents := whole.get("agents"), Mapping):
            whole["agents"] = {
                name: self._binding(it, f"{where}agents.{name}") for name, it in agents.items()
            }
        if isinstance(options := whole.get("options"), Mapping) and isinstance(
            items := options.get("items"), list
        ):
            read = [
                self._item(it, f"{where}options.items[{i}]", texts=("text",), data=("data",))
                for i, it in enumerate(items)
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
            return {name: self._data(it, f"{where}.{name}") for name, it in data.items()}
        if isinstance(data, list):
            return [self._data(it, f"{where}[{i}]") for i, it in enumerate(data)]
        return self._text(data, where)

    def _text(self, text: Any, where: str) -> Any:
        return self.change(text, where) if isinstance(text, str) else text
