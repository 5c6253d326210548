"""Work items of a swarm: as they are added, as their worker sees them, and their results."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field, JsonValue, model_validator

from ..text.json_text import depth_of, dump_json
from .frozen import Frozen, ShortText

#: Maximum characters of the data of an item, as JSON, and maximum depth of its lists and objects.
MAX_DATA = 8_000
MAX_DATA_DEPTH = 32

#: An id that is given to an item. It never looks like a number: items without an id are numbered.
ItemId = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_.-]{0,63}$")]
#: The id of another item: a given one, or the number of an item without an id.
ItemReference = Annotated[str, Field(min_length=1, max_length=64, coerce_numbers_to_str=True)]


def _check_data(data: JsonValue) -> JsonValue:
    if depth_of(data) > MAX_DATA_DEPTH:
        raise ValueError(f"must not nest lists and objects deeper than {MAX_DATA_DEPTH} levels")
    if len(dump_json(data)) > MAX_DATA:
        raise ValueError(f"must be at most {MAX_DATA} characters as JSON")
    return data


class WorkItem(Frozen):
    """An item on the board of a swarm, as its worker sees it."""

    #: The id that was given to it, or else its number on the board.
    item_id: str
    text: str = Field(min_length=1, max_length=8_000)
    #: Role id or participant id that may take it; None: anyone.
    role: str | None = None
    #: How often the item was handed from one role to another.
    hand_offs: int = 0
    #: Data for its worker; None: no data.
    data: JsonValue = None
    #: Ids of the items that must be done before it begins.
    after: tuple[str, ...] = ()


class NewItem(Frozen):
    """An item that is added to the board, at the start or by an agent."""

    text: str = Field(min_length=1, max_length=8_000)
    role: ShortText | None = None
    #: Its id on the board; None: its number.
    id: ItemId | None = None
    #: Data for its worker; None: no data.
    data: Annotated[JsonValue, AfterValidator(_check_data)] = None
    #: Ids of the items that must be done before it begins. If one of them is dropped, so is this one.
    after: tuple[ItemReference, ...] = Field(default=(), max_length=100)

    @model_validator(mode="before")
    @classmethod
    def _read_text(cls, data: object) -> object:
        """Read a text as an item with this text."""
        return {"text": data} if isinstance(data, str) else data


class ItemResult(Frozen):
    """The result of a closed item, for the agent whose turn builds on it."""

    item_id: str
    #: Text of the item, cut to a line.
    item: str
    #: `done` or `dropped`.
    status: str
    participant: str | None = None
    #: Number of the turn that closed it.
    turn_number: int | None = None
    #: The last message of the turn that closed it, cut; empty: the turn had no message.
    text: str = ""
    #: The data of that message; None: there is none, or it is too long.
    output: JsonValue = None
    #: True: the text is cut, or the data is left out.
    is_cut: bool = False
    #: Why it was dropped.
    reason: str = ""
