"""The result of a session: how it ended, its messages, its output, the verdict of a pair, the items of a swarm."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from html import escape
from typing import Any, Self

from pydantic import BaseModel, JsonValue, ValidationError

from ..models.errors import SessionFailed, invalid_input
from ..models.modes import mode_of
from ..models.protocol.collab import Collab, CollabStatus
from ..models.protocol.dialog import Dialog, Message, dialog_html
from ..models.rows import Rows
from ..models.sessions.plan import BoardEntry
from ..models.text.json_text import dump_json
from ..models.text.redact import excerpt
from ..models.text.words import count_of
from ..models.turns.turn import Usage
from .blocking import current_cell


@dataclass(frozen=True, slots=True)
class PairVerdict:
    """The last verdict of the navigator of a pair."""

    #: Participant id of the navigator.
    by: str
    approved: bool
    #: Why it approved, or the text of its last message.
    reason: str


class ItemState(StrEnum):
    """State of a work item."""

    #: It waits for items that are not done.
    WAITING = "waiting"
    OPEN = "open"
    CLAIMED = "claimed"
    DONE = "done"
    DROPPED = "dropped"


@dataclass(frozen=True, slots=True)
class Item:
    """A work item of a swarm, with its result."""

    #: The id that was given to it, or else its number.
    id: str
    text: str
    state: ItemState
    #: Role or participant that may take it; None: anyone.
    role: str | None = None
    data: JsonValue = None
    #: Ids of the items that must be done before it begins.
    after: tuple[str, ...] = ()
    #: Participant who has it, or who closed it.
    claimant: str | None = None
    #: Number of the turn that closed it.
    turn_number: int | None = None
    #: Last message of that turn; empty: it had none, or the item is not done.
    result: str = ""
    #: Data of that message; None: it has none.
    output: JsonValue = None
    #: Why it was dropped.
    reason: str = ""
    hand_offs: int = 0

    def to_json_data(self) -> dict[str, JsonValue]:
        """Return the item as JSON data."""
        return {
            "id": self.id,
            "text": self.text,
            "state": self.state.value,
            "role": self.role,
            "data": self.data,
            "after": list(self.after),
            "claimant": self.claimant,
            "turn_number": self.turn_number,
            "result": self.result,
            "output": self.output,
            "reason": self.reason,
            "hand_offs": self.hand_offs,
        }


def items_of(board: Iterable[BoardEntry], messages: Mapping[int, Message]) -> tuple[Item, ...]:
    """Return the items of a board with the last messages of their turns, in the order of the board."""
    entries = sorted(board, key=lambda entry: entry.order)
    done = {entry.item.item_id for entry in entries if entry.status == ItemState.DONE}
    return tuple(_item(entry, done, messages.get(entry.turn_number or 0)) for entry in entries)


def _item(entry: BoardEntry, done: set[str], message: Message | None) -> Item:
    waits = entry.status == ItemState.OPEN and not done.issuperset(entry.item.after)
    return Item(
        id=entry.item.item_id,
        text=entry.item.text,
        state=ItemState.WAITING if waits else ItemState(entry.status),
        role=entry.item.role,
        data=entry.item.data,
        after=entry.item.after,
        claimant=entry.participant,
        turn_number=entry.turn_number,
        result="" if message is None else message.content,
        output=None if message is None else message.output,
        reason=entry.reason,
        hand_offs=entry.item.hand_offs,
    )


@dataclass(frozen=True, repr=False)
class JobResult(Rows):
    """The end of a session, and all its messages."""

    collab: Collab
    dialog: Dialog
    #: Reason of the end: `satisfied`, `max_rounds`, `failed`, ...
    reason: str
    detail: str
    usage: Usage
    turns: int
    rounds: int
    #: The output as JSON data, as it was checked against the schema; None: there is none.
    output_data: JsonValue = None
    #: Class of the output, as given to `submit`; None: a JSON schema, or a job of `get_job`.
    output_type: type[BaseModel] | None = None
    #: Work items of a swarm with their results; none in other modes.
    items: tuple[Item, ...] = ()
    #: Number of the cell of a notebook that has shown the dialog; None: no cell has.
    shown_in_cell: int | None = field(default=None, compare=False)

    @property
    def ok(self) -> bool:
        """Whether the session was completed, not cancelled or aborted."""
        return self.collab.status is CollabStatus.COMPLETED

    def __str__(self) -> str:
        """Return the outcome and the last message in one line; `dialog` has all messages."""
        last = f": {excerpt(self.text)}" if self.text else ""
        return f"{self._outcome()}{last}"

    def __repr__(self) -> str:
        return f"JobResult({self.collab.collab_id!r}, {self._outcome()})"

    def _outcome(self) -> str:
        why = "" if self.reason in ("", self.collab.status.value) else f" ({self.reason})"
        return f"{self.collab.status.value}{why}, {count_of(self.turns, 'turn')}, {self.usage}"

    def raise_for_failure(self) -> Self:
        """Return this result if the session was completed.

        Raises:
            SessionFailed: It was cancelled, also because an agent failed.
        """
        if not self.ok:
            raise SessionFailed(self.collab.collab_id, reason=self.reason, detail=self.detail)
        return self

    def to_rows(self) -> list[dict[str, Any]]:
        """Return a row for each message of the dialog."""
        return self.dialog.to_rows()

    def to_html(self) -> str:
        """Return the dialog and the outcome as HTML."""
        return dialog_html(self.collab.title, self.dialog.messages, status=self._outcome())

    def _repr_html_(self) -> str:
        """Return what a notebook shows: no dialog in the cell that has shown it as it grew."""
        if self.shown_in_cell is not None and self.shown_in_cell == current_cell():
            return f"<em>{escape(self._outcome())}</em>"
        return self.to_html()

    @property
    def text(self) -> str:
        """Text of the last message; empty if there is none."""
        return self.dialog.messages[-1].content if self.dialog.messages else ""

    @cached_property
    def output(self) -> BaseModel | JsonValue:
        """The output of the session: an object of the class that was submitted, else JSON data; None: there is none.

        Raises:
            InvalidInput: The data is valid under the JSON schema of the class, but not under a rule that the class
                checks in Python. `output_data` has the data.
        """
        if self.output_type is None or self.output_data is None:
            return self.output_data
        try:
            return self.output_type.model_validate_json(dump_json(self.output_data))
        except ValidationError as error:
            raise invalid_input(error, "output") from None

    @property
    def verdict(self) -> PairVerdict | None:
        """Last verdict of the navigator of a pair; None: no verdict, or another mode."""
        if not mode_of(self.collab.mode).has_navigator:
            return None
        navigator = self.collab.participants[-1].participant_id
        if self.reason == "approved":
            return PairVerdict(navigator, approved=True, reason=self.detail)
        contents = (
            message.content for message in reversed(self.dialog.messages) if message.speaker == navigator
        )
        last = next(contents, None)
        return None if last is None else PairVerdict(navigator, approved=False, reason=last)
