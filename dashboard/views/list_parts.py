"""Parts of the list of sessions around its rows: tabs, views, headers, what a query says, pages. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from ...models.sessions.query import SessionQuery
from ...models.sessions.query_words import span_words

#: Status or attention -> words after its count.
STATUS_WORDS = {
    "active": "active",
    "failed": "failed",
    "suspended": "suspended",
    "limit": "at a limit",
    "completed": "completed",
    "cancelled": "cancelled",
    "draft": "drafts",
}
ATTENTION_WORDS = {
    "person": "need an answer",
    "retry": "retry",
    "stuck": "stuck",
    "worker": "no worker",
    "lost": "worker lost",
    "budget": "wait for budget",
    "unreadable": "unreadable",
}
#: Those that are shown only if there is one.
_RARE = ("draft", "lost", "budget", "unreadable")
#: Times of the filter: parameter -> words.
TIMES = {"1h": "last hour", "24h": "last 24 h", "7d": "last 7 days", "30d": "last 30 days"}
#: Orders of the filter, by their words.
SORTS = {
    "-activity": "activity",
    "-opened": "newest",
    "opened": "oldest",
    "-cost": "cost",
    "-tokens": "tokens",
    "-duration": "duration",
    "title": "title",
}
#: Views by name: their parameters.
VIEWS = {
    "Failed since yesterday": {"status": "failed", "since": "24h", "group": "error"},
    "Most expensive this week": {"since": "7d", "sort": "-cost"},
    "Failures by agent": {"since": "7d", "group": "agent"},
    "Cost by agent": {"since": "7d", "sort": "-cost", "group": "agent"},
    "Who is waited for": {"attention": "person"},
    "Stuck, and why": {"attention": "stuck,worker,lost,retry"},
}
#: Sizes of a page.
SIZES = (50, 100)


@dataclass(frozen=True, slots=True)
class Link:
    """A link of the page."""

    href: str
    words: str
    count: int = 0
    css: str = ""
    is_current: bool = False


class Links:
    """Links to the list with other parameters.

    Args:
        base_url: URL prefix of Flower.
        query: The query of the page.
    """

    def __init__(self, base_url: str, query: SessionQuery) -> None:
        self._path = f"{base_url}/collabs"
        self._query = query

    def with_params(self, params: Mapping[str, str]) -> str:
        """Return the address of the list with exactly these parameters."""
        return f"{self._path}?{urlencode(params)}" if params else self._path

    def to(self, *, select: str = "", **changes: Any) -> str:
        """Return the address of the list with other values, from the first page."""
        params = self._query.changed(**changes).to_params()
        return self.with_params({**params, "select": select} if select else params)

    def sort(self, name: str, *, descending: bool = True) -> str:
        """Return the address with an order; of the current one, its opposite."""
        wanted = f"-{name}" if descending else name
        if self._query.sort == wanted:
            wanted = wanted.removeprefix("-") if descending else f"-{name}"
        return self.to(sort=wanted, group="")


def tabs(query: SessionQuery, counts: Mapping[str, int], links: Links) -> list[Link | None]:
    """Return the links with counts, by status and by attention; None separates both."""
    everything = Link(
        links.to(status=(), attention=()),
        "all",
        counts["all"],
        is_current=not query.status and not query.attention,
    )
    statuses = [
        _tab(name, words, counts, links.to(status=(name,), attention=()), is_current=name in query.status)
        for name, words in STATUS_WORDS.items()
        if counts.get(name) or name not in _RARE
    ]
    attentions = [
        _tab(name, words, counts, links.to(status=(), attention=(name,)), is_current=name in query.attention)
        for name, words in ATTENTION_WORDS.items()
        if counts.get(name) or name not in _RARE
    ]
    return [everything, *statuses, None, *attentions]


def _tab(name: str, words: str, counts: Mapping[str, int], href: str, *, is_current: bool) -> Link:
    count = counts.get(name, 0)
    is_bad = name in ("failed", "lost", "worker", "stuck", "unreadable")
    return Link(href, words, count, "zero" if not count else "bad" if is_bad else "", is_current)


def views(query: SessionQuery, links: Links) -> list[Link]:
    """Return the views: queries with a name."""
    current = query.changed().to_params()
    return [
        Link(links.with_params(params), name, is_current=current == params) for name, params in VIEWS.items()
    ]


def describe(query: SessionQuery) -> Iterator[tuple[str, str, str]]:
    """Yield the filters of a query: parameter, name and value in words."""
    for name, value in query.to_params().items():
        match name:
            case "sort" | "page" | "per_page" | "group":
                continue
            case "since":
                yield (
                    name,
                    "opened in the last" if span_words(value) else "opened since",
                    span_words(value) or value,
                )
            case "until":
                yield name, "opened before", f"{span_words(value)} ago" if span_words(value) else value
            case "status" | "attention":
                words = {**STATUS_WORDS, **ATTENTION_WORDS}
                yield name, name, " or ".join(words.get(part, part) for part in value.split(","))
            case "cost_min":
                yield name, "cost from", f"${value}"
            case "q":
                yield name, "search", f"“{value}”"
            case _:
                yield name, name, value.replace("_", " ") if name == "mode" else value


def without(query: SessionQuery, name: str) -> SessionQuery:
    """Return a query without one of its filters."""
    return query.changed(**{name: getattr(SessionQuery(), name)})


@dataclass(frozen=True, slots=True)
class Pager:
    """Numbers of the shown rows, and links to the other pages."""

    text: str
    older: str
    newer: str
    #: Links to other sizes of a page.
    sizes: Sequence[Link]


def pager(query: SessionQuery, *, shown: int, total: int, pages: int, links: Links) -> Pager:
    """Return the line below the rows.

    Args:
        query: The query; its page may be beyond the last one.
        shown: Number of rows on the page.
        total: Number of sessions that match.
        pages: Number of pages.
        links: Links of the page.
    """
    page = min(query.page, pages)
    first = (page - 1) * query.per_page + 1
    return Pager(
        f"{first:,}\N{EN DASH}{first + shown - 1:,} of {total:,}" if shown else "",
        links.to(page=page + 1) if page < pages else "",
        links.to(page=page - 1) if page > 1 else "",
        [
            Link(links.to(per_page=size), f"{size} a page")
            for size in SIZES
            if size != query.per_page and total > min(size, query.per_page)
        ],
    )


def sort_state(query: SessionQuery, name: str) -> str:
    """Return the value of `aria-sort` of a column; empty: the rows are not in its order."""
    if query.sort_key != name:
        return ""
    return "descending" if query.is_descending else "ascending"
