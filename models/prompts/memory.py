"""Texts on the memory of the user: how an answer adds to it, and what is known. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from ..memory.parameters import to_compact_json
from ..memory.recall import MemoryView
from ..memory.services import service_names
from ..text.tags import escape_tags

_MEMORY_FORM = """\
When the user states a detail, add a line for each:
REMEMBER name: value
When they want a detail forgotten: FORGET: name
When they change the subject: SERVICE: one of {services}"""


def memory_form(memory: MemoryView | None) -> str:
    """Return how an answer may add to the memory; empty in a session without memory."""
    return "" if memory is None else _MEMORY_FORM.format(services=", ".join(service_names()))


def memory_lines(memory: MemoryView | None) -> Iterator[str]:
    """Yield the known facts about the user, and the questions to ask them."""
    if memory is None:
        return
    if memory.parameters:
        facts = "; ".join(f"{name}: {_plain(value)}" for name, value in memory.parameters.items())
        yield escape_tags(f"Known about the user's {memory.service or 'wishes'}: {facts}")
    if memory.ask:
        yield escape_tags(f"Ask the user for: {', '.join(memory.ask)}")


def _plain(value: object) -> str:
    return value if isinstance(value, str) else to_compact_json(value)
