"""What can be asked about sessions: filters, order and page, as in the URL of the list. Pure.

    query, notices = SessionQuery.read({"status": ["failed,limit"], "since": ["7d"], "sort": ["-cost"]})
    query.matches(row)
    query.to_params()  # {"status": "failed,limit", "since": "7d", "sort": "-cost"}

The same filter is evaluated in two ways: by `matches` for sessions in memory, and in SQL for archived ones
(`archive/sessions/conditions.py`). A property test compares them.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from decimal import Decimal
from typing import Any, Self

from ..errors import InvalidInput
from ..protocol.collab import CollabMode, added_mode_names
from .query_params import ParamReader, moment_ms
from .shown_status import ShownStatus

#: Kinds of attention, by their names in the URL, with the words of the page.
ATTENTIONS = {
    "person": "needs an answer",
    "retry": "retries",
    "stuck": "stuck",
    "worker": "no worker",
    "lost": "worker lost",
    "budget": "waits for budget",
    "unreadable": "unreadable",
}
#: Names of earlier versions.
_OLD_ATTENTIONS = {"parked": "person", "no_worker": "worker"}
#: Order -> field of a row; `duration` is computed.
SORT_FIELDS = {
    "activity": "updated_ms",
    "opened": "opened_ms",
    "cost": "cost_micros",
    "tokens": "tokens",
    "duration": "",
    "title": "title",
    "turns": "turns",
    "mode": "mode",
    "status": "shown",
}
#: What sessions may be counted by.
GROUPS = ("agent", "error", "tenant", "tag")
DEFAULT_SORT = "-activity"
DEFAULT_PER_PAGE = 50
MAX_PER_PAGE = 500
MAX_PAGE = 1_000_000

_STATUSES = tuple(status.value for status in ShownStatus)
_TEXTS = ("q", "tenant", "agent", "tag", "user", "thread", "error")
_LISTS = ("status", "attention")


@dataclass(frozen=True, slots=True)
class SessionQuery:
    """Filters, order and page; an empty value is no filter."""

    #: Text in the title, the error, or the id or name of a participant; the whole name of an agent; the id of the
    #: thread; the beginning of the id.
    q: str = ""
    #: Statuses as shown; any of them.
    status: tuple[str, ...] = ()
    #: Kinds of attention; any of them.
    attention: tuple[str, ...] = ()
    mode: str = ""
    tenant: str = ""
    #: Name of an agent, or id of a participant.
    agent: str = ""
    tag: str = ""
    user: str = ""
    #: Id of the thread, which is the id of its first session if that session named none.
    thread: str = ""
    #: Text in the error of a session.
    error: str = ""
    #: Minimum cost, in millionths of a US dollar. The parameter is in dollars.
    cost_min: int = 0
    #: Opened at or after this time: an age such as `24h`, or ISO 8601.
    since: str = ""
    #: Opened before this time; same formats.
    until: str = ""
    #: A key of `SORT_FIELDS`; with `-` in descending order.
    sort: str = DEFAULT_SORT
    #: One of `GROUPS`: count sessions by it.
    group: str = ""
    #: Number of the page, from 1.
    page: int = 1
    per_page: int = DEFAULT_PER_PAGE

    @classmethod
    def read(cls, params: Mapping[str, Sequence[str]]) -> tuple[Self, tuple[str, ...]]:
        """Return the query of parameters of a URL, and a line for each wrong value, which is left out.

        Args:
            params: Values by name. Lists take commas and repeated names; of another repeated name the last counts.
                Unknown names are ignored.
        """
        query, faults = cls._read(params)
        return query, tuple(map(str, faults))

    @classmethod
    def read_strictly(cls, params: Mapping[str, Sequence[str]]) -> Self:
        """Return the query of parameters, as `read`.

        Raises:
            InvalidInput: A value is wrong.
        """
        query, faults = cls._read(params)
        if faults:
            raise faults[0]
        return query

    @classmethod
    def _read(cls, params: Mapping[str, Sequence[str]]) -> tuple[Self, list[InvalidInput]]:
        reader = ParamReader(params)
        statuses = reader.choices("status", _STATUSES, also=tuple(ATTENTIONS), aliases=_OLD_ATTENTIONS)
        attentions = (
            *reader.choices("attention", tuple(ATTENTIONS), aliases=_OLD_ATTENTIONS),
            *_among(statuses, ATTENTIONS),
        )
        values: dict[str, Any] = {name: reader.text(name) for name in _TEXTS}
        values |= {
            "status": _among(statuses, _STATUSES),
            "attention": tuple(dict.fromkeys(attentions)),
            "mode": reader.choice("mode", (*CollabMode, *added_mode_names())),
            "cost_min": reader.micros("cost_min"),
            "since": reader.moment("since"),
            "until": reader.moment("until"),
            "sort": reader.order("sort", tuple(SORT_FIELDS)) or DEFAULT_SORT,
            "group": reader.choice("group", GROUPS),
            "page": reader.number("page", 1, most=MAX_PAGE),
            "per_page": reader.number("per_page", DEFAULT_PER_PAGE, most=MAX_PER_PAGE),
        }
        return cls(**values), reader.faults

    def to_params(self) -> dict[str, str]:
        """Return the parameters of the URL, without defaults."""
        params: dict[str, str] = {}
        for field in fields(self):
            value = getattr(self, field.name)
            if value == field.default:
                continue
            if field.name == "cost_min":
                params[field.name] = f"{Decimal(value) / 1_000_000:f}"
            else:
                params[field.name] = ",".join(value) if field.name in _LISTS else str(value)
        return params

    def changed(self, **changes: Any) -> Self:
        """Return the query with other values, from the first page unless `page` is given."""
        return replace(self, **{"page": 1, **changes})

    def opened_between(self, now_ms: int) -> tuple[int | None, int | None]:
        """Return the bounds of the opening time in milliseconds since the epoch, the second one exclusive."""
        return moment_ms(self.since, now_ms), moment_ms(self.until, now_ms)

    @property
    def sort_key(self) -> str:
        """Key of `SORT_FIELDS`."""
        return self.sort.removeprefix("-")

    @property
    def is_descending(self) -> bool:
        """Whether the greatest value is first."""
        return self.sort.startswith("-")

    def matches(self, row: Mapping[str, Any], *, now_ms: int | None = None) -> bool:
        """Return whether a row fits, all filters together. `now_ms`: see `fits`."""
        return self.has_status(row) and self.fits(row, now_ms=now_ms)

    def has_status(self, row: Mapping[str, Any]) -> bool:
        """Return whether a row fits `status` and `attention`."""
        if self.status and row["shown"] not in self.status:
            return False
        return not self.attention or attention_name(row["attention"]) in self.attention

    def fits(self, row: Mapping[str, Any], *, now_ms: int | None = None) -> bool:
        """Return whether a row fits all filters but `status` and `attention`.

        Args:
            row: A `CollabRow`, or the part of it that is read here.
            now_ms: Time from which ages count, in milliseconds since the epoch; None: now.
        """
        since, until = self.opened_between(round(time.time() * 1000) if now_ms is None else now_ms)
        return (
            self.mode in ("", row["mode"])
            and self.tenant in ("", row["tenant"])
            and self.user in ("", row["user"])
            and (not self.tag or self.tag in row["tags"])
            and (not self.agent or _has_agent(row, self.agent))
            and self.thread.lower() in ("", row["thread"], row["id"])
            and row["cost_micros"] >= self.cost_min
            and (since is None or row["opened_ms"] >= since)
            and (until is None or row["opened_ms"] < until)
            and (not self.error or self.error.lower() in error_text(row).lower())
            and (not self.q or self._has_text(row))
        )

    def _has_text(self, row: Mapping[str, Any]) -> bool:
        text = self.q.lower()
        names = (name for who in row["agents"] for name in (who["participant"], who["name"]))
        return (
            any(text in value.lower() for value in (row["title"], error_text(row), *names))
            or any(who["agent"] == self.q for who in row["agents"])
            or row["id"].startswith(text)
            or text == row["thread"]
        )


#: The query without filters.
ANY_QUERY = SessionQuery()


def attention_name(kind: str | None) -> str | None:
    """Return the name of a kind of attention in the URL; None: nothing needs attention."""
    return None if kind is None else _OLD_ATTENTIONS.get(kind, kind)


def error_text(row: Mapping[str, Any]) -> str:
    """Return the text of a session's error that filters look in.

    It is the detail of the end of a failed session, and the newest failure of one that has not ended.
    """
    if row["shown"] == ShownStatus.FAILED:
        return row["detail"] or ""
    error = row["error"]
    return "" if row["ended_ms"] is not None or error is None else error["text"]


def duration_ms(row: Mapping[str, Any], now_ms: int) -> int:
    """Return how long a session took, or runs until now; of an archived one that has no end, until its last change."""
    until = row["ended_ms"]
    if until is None:
        until = row["updated_ms"] if row["archived"] else now_ms
    return max(0, int(until) - int(row["opened_ms"]))


def sort_value(row: Mapping[str, Any], query: SessionQuery, now_ms: int) -> tuple[Any, str]:
    """Return the sort key of a row, then its id."""
    name = query.sort_key
    value = duration_ms(row, now_ms) if name == "duration" else row[SORT_FIELDS[name]]
    return value.lower() if isinstance(value, str) else value, row["id"]


def _among(values: Iterable[str], allowed: Iterable[str]) -> tuple[str, ...]:
    names = tuple(allowed)
    return tuple(value for value in values if value in names)


def _has_agent(row: Mapping[str, Any], name: str) -> bool:
    return any(name in (who["agent"], who["participant"]) for who in row["agents"])
