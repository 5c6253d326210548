"""What the address of a session's page asks for, and links to the page with other values. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple
from urllib.parse import urlencode

from ....models.errors import InvalidInput
from ....models.sessions.query_params import moment_ms

#: Columns by which the participants are sorted.
PEOPLE_SORTS = ("turns", "tokens", "cost")
#: Fields that choose messages; with other values, the page begins at the newest one.
_FILTERS = frozenset({"find", "who", "since", "until"})
#: Fields whose names in the address are words of Python.
_NAMES = {"since": "from", "until": "to"}
#: Milliseconds to which the start of an age is rounded down, so that pages of the same time share their fragments.
_STEP_MS = 10_000
#: Maximum time, in milliseconds since the epoch: the end of the year 9999.
_MAX_MS = 253_402_300_799_999


class Times(NamedTuple):
    """The times of `from` and `to`, in milliseconds since the epoch; None: not given."""

    since_ms: int | None
    until_ms: int | None


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

    @property
    def is_live(self) -> bool:
        """Return whether the transcript shows the newest turns."""
        return not (self.turn or self.before or self.find or self.who or self.until)

    def times(self, now_ms: int) -> Times:
        """Return `from` and `to` as times.

        Args:
            now_ms: The time from which ages count, in milliseconds since the epoch.

        Raises:
            InvalidInput: A text is not a time.
        """
        return Times(_moment_ms("from", self.since, now_ms), _moment_ms("to", self.until, now_ms))

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


def _moment_ms(name: str, text: str, now_ms: int) -> int | None:
    try:
        at_ms = moment_ms(text, now_ms // _STEP_MS * _STEP_MS)
    except ValueError:
        at_ms = -1
    if at_ms is not None and not 0 <= at_ms <= _MAX_MS:
        rule = "must be an age such as 5m, or a time in ISO 8601, from 1970 to 9999"
        raise InvalidInput(name, text, rule)
    return at_ms
