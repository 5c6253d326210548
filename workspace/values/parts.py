"""Parts of a message of a conversation: text, data, and references to files.

A message with parts has a text, too: that of its parts, for readers who know no parts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import Field, TypeAdapter, ValidationError

from ...models.errors import InvalidInput, invalid_input
from ...models.protocol.base import JsonObject, Many, Text
from ...models.text.json_text import dump_json
from .conversation import CamelProtocolObject

#: Parts of a message, and characters of all of them as JSON.
MAX_PARTS = 50
MAX_PARTS_TEXT = 131_072


class TextPart(CamelProtocolObject):
    """A text."""

    kind: Literal["text"] = "text"
    text: Annotated[Text, Field(min_length=1)]

    def summary(self) -> str:
        """Return the part as text."""
        return self.text


class DataPart(CamelProtocolObject):
    """JSON data."""

    kind: Literal["data"] = "data"
    data: JsonObject

    def summary(self) -> str:
        """Return the part as text."""
        return dump_json(self.data)


class FilePart(CamelProtocolObject):
    """A reference to a file, which the message does not contain."""

    kind: Literal["file"] = "file"
    uri: Annotated[Text, Field(min_length=1, max_length=2_000)]
    name: Annotated[Text, Field(min_length=1, max_length=255)] | None = None
    media_type: Annotated[Text, Field(min_length=1, max_length=100)] | None = None

    def summary(self) -> str:
        """Return the part as text."""
        return f"[file {self.name or self.uri}]"


Part = Annotated[TextPart | DataPart | FilePart, Field(discriminator="kind")]
_PARTS: TypeAdapter[Sequence[Part]] = TypeAdapter(
    Annotated[Many[Part], Field(min_length=1, max_length=MAX_PARTS)]
)


def read_parts(parts: object) -> tuple[Part, ...]:
    """Return valid parts from objects or data.

    Raises:
        InvalidInput: A part breaks a rule, or the parts are too long.
    """
    given = parts
    if isinstance(parts, list | tuple):
        given = [part.to_wire() if isinstance(part, CamelProtocolObject) else part for part in parts]
    try:
        read = tuple(_PARTS.validate_python(given))
    except ValidationError as error:
        raise invalid_input(error).within("parts") from None
    length = sum(len(dump_json(part.to_wire())) for part in read)
    if length > MAX_PARTS_TEXT:
        raise InvalidInput(
            "parts", f"{length} characters", f"must have at most {MAX_PARTS_TEXT} characters as JSON"
        )
    return read


def summarize_parts(parts: tuple[Part, ...]) -> str:
    """Return the text of a message with these parts."""
    return "\n\n".join(part.summary() for part in parts)
