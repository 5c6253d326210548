"""What the address of a session's page asks for, and links to the page with other values. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlencode

#: Columns by which the participants are sorted.
PEOPLE_SORTS = ("turns", "tokens", "cost")
#: Fields that choose messages; with other values, the page begins at the newest one.
_FILTERS = frozenset({"find", "who", "since", "until"})
#: Fields whose names in the address are words of Python.
_NAMES = {"since": "from", "until": "to"}


@dataclass(frozen=True, slots=True)
class SessionParams:
    """What the address of a session's page asks for."""

    #: Turn that is shown, with those around it; 0: the newest ones.
    turn: int = 0
    #: Id of the stream entry before which messages are shown.
    before: str = ""
    #: Text that is searched in the transcript.
    find: str = ""
    #: Participant whose messages are shown.
    who: str = ""
    #: `from` and `to`: times of messages and of the time axis, as they were written.
    since: str = ""
    until: str = ""
    #: Column by which participants are sorted; empty: in roster order.
    people: str = ""
    #: Show the events: `newest`, or a cursor to older ones.
    events: str = ""
    #: Session with which this one is compared.
    compare: str = ""
    #: The times in milliseconds since the epoch; None: not given.
    since_ms: int | None = None
    until_ms: int | None = None

    @property
    def is_live(self) -> bool:
        """Return whether the transcript shows the newest turns."""
        return not (self.turn or self.before or self.find or self.who or self.until)

    def items(self, *without: str) -> list[tuple[str, str]]:
        """Return names and values of the address, except for some fields."""
        texts = ["turn", "before", "find", "who", "since", "until", "people", "events", "compare"]
        return [
            (_NAMES.get(name, name), str(value))
            for name in texts
            if name not in without and (value := getattr(self, name))
        ]

    def to(self, **changes: Any) -> str:
        """Return the query of a link to the page with other values."""
        if changes.keys() & {"turn", "before", *_FILTERS}:
            changes = {"turn": 0, "before": "", **changes}
        return f"?{urlencode(replace(self, **changes).items())}"

    def all_turns(self, **changes: Any) -> str:
        """Return the query of a link to the page without filters of messages."""
        return self.to(**dict.fromkeys(_FILTERS, ""), **changes)
