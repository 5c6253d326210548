"""Text of agents as it may be stored: without characters that JSON, databases or terminals cannot take."""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import BeforeValidator

# Controls other than tab, line feed and carriage return.
_CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")


def clean_text(text: str) -> str:
    """Return `text` with each control and lone surrogate replaced by U+FFFD; the halves of a pair are joined."""
    if not text.isascii():
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return _CONTROLS.sub("\ufffd", text)


def clean_data(data: Any) -> Any:
    """Return JSON data with all its texts cleaned, names of fields included."""
    match data:
        case str():
            return clean_text(data)
        case dict():
            return {clean_data(name): clean_data(value) for name, value in data.items()}
        case list():
            return [clean_data(it) for it in data]
        case _:
            return data


#: Text that is cleaned when it is read: what an agent paid for is not lost because of one character.
CleanText = Annotated[
    str, BeforeValidator(lambda given: clean_text(given) if isinstance(given, str) else given)
]
