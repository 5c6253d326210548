"""What the addresses of the pages of reviews ask for: which runs, and which findings of one run. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Self
from urllib.parse import urlencode

from ...models.sessions.query_params import ParamReader
from ...models.severity import Severity
from ...reviews.values.findings import Finding, FindingStatus
from ...reviews.values.runs import ItemState, ListedReview

#: States of a review, those that need a look first.
STATES = ("running", "failed", "partial", "cancelled", "completed", "opening", "stopping", "unreadable")
SEVERITIES = tuple(severity.value for severity in reversed(Severity))
STATUSES = tuple(status.value for status in FindingStatus)
#: How findings are grouped.
GROUPS = ("file", "rule", "severity")
#: Highest number of a page.
MAX_PAGE = 10_000

#: Column -> values by which the list is sorted.
_SORTS: Mapping[str, Callable[[ListedReview], tuple[Any, ...]]] = {
    "started": lambda review: (review.started,),
    "findings": lambda review: (sum(review.severities.values()),),
    "failed": lambda review: (review.items.get(ItemState.FAILED.value, 0),),
    "cost": lambda review: (review.cost_micros, review.tokens),
}


@dataclass(frozen=True)
class UrlQuery:
    """A query whose fields are parameters of an address."""

    def address(self, path: str, **changes: Any) -> str:
        """Return an address with other values, from the first page."""
        return _address(path, replace(self, **(self._first_page() | changes)))

    def _first_page(self) -> dict[str, Any]:
        return {}


def _address(path: str, query: UrlQuery) -> str:
    params = {
        field.name: ",".join(value) if isinstance(value, tuple) else str(value)
        for field in fields(query)
        if (value := getattr(query, field.name)) != field.default
    }
    return f"{path}?{urlencode(params)}" if params else path


@dataclass(frozen=True)
class RunQuery(UrlQuery):
    """Which runs the list shows."""

    state: tuple[str, ...] = ()
    root: str = ""
    panel: str = ""
    #: Text in the root, the panel or the first failure, or the beginning of an id.
    q: str = ""
    #: Column, with `-` for descending.
    sort: str = "-started"
    #: Cursor of the page before; empty: the newest runs.
    cursor: str = ""

    @classmethod
    def read(cls, params: Mapping[str, Sequence[str]]) -> tuple[Self, tuple[str, ...]]:
        """Return the query of an address, and a line for each wrong value, which is left out."""
        reader = ParamReader(params)
        texts = {name: reader.text(name) for name in ("root", "panel", "q", "cursor")}
        sort = reader.order("sort", tuple(_SORTS)) or cls.sort
        return cls(state=reader.choices("state", STATES), sort=sort, **texts), tuple(map(str, reader.faults))

    def sort_address(self, path: str, column: str) -> str:
        """Return the address with the rows sorted by a column; in its current order, the opposite one."""
        return self.address(path, sort=column if self.sort == f"-{column}" else f"-{column}")

    def sort_state(self, column: str) -> str:
        """Return the value of `aria-sort` of a column; empty: the rows are not in its order."""
        return {f"-{column}": "descending", column: "ascending"}.get(self.sort, "")

    def fits(self, review: ListedReview) -> bool:
        """Return whether a review fits all filters but the state."""
        texts = (review.root_name, review.panel, review.failure)
        has_text = review.id.startswith(self.q.lower()) or any(
            self.q.casefold() in text.casefold() for text in texts
        )
        return self.root in ("", review.root_name) and self.panel in ("", review.panel) and has_text

    def select(self, reviews: Sequence[ListedReview]) -> list[ListedReview]:
        """Return the reviews that fit, in their order."""
        matching = [review for review in reviews if self.fits(review)]
        if self.state:
            matching = [review for review in matching if review.state in self.state]
        key = _SORTS[self.sort.removeprefix("-")]
        return sorted(matching, key=key, reverse=self.sort.startswith("-"))


@dataclass(frozen=True)
class FindingQuery(UrlQuery):
    """Which findings the page of a run shows."""

    severity: tuple[str, ...] = ()
    #: Empty: all that are open.
    status: tuple[str, ...] = ()
    #: Text in the path, the rule or the message.
    q: str = ""
    group: str = "file"
    page: int = 1

    @classmethod
    def read(cls, params: Mapping[str, Sequence[str]]) -> tuple[Self, tuple[str, ...]]:
        """Return the query of an address, and a line for each wrong value, which is left out."""
        reader = ParamReader(params)
        query = cls(
            severity=reader.choices("severity", SEVERITIES),
            status=reader.choices("status", STATUSES),
            q=reader.text("q"),
            group=reader.choice("group", GROUPS) or cls.group,
            page=reader.number("page", 1, most=MAX_PAGE),
        )
        return query, tuple(map(str, reader.faults))

    def _first_page(self) -> dict[str, Any]:
        return {"page": 1}

    def matches(self, finding: Finding) -> bool:
        """Return whether a finding fits all filters."""
        if self.severity and finding.severity not in self.severity:
            return False
        if not (finding.status in self.status if self.status else finding.is_open):
            return False
        texts = (finding.path, finding.rule, finding.message)
        return any(self.q.casefold() in text.casefold() for text in texts)
