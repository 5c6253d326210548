"""Live fragments of pages: HTML of the server that replaces elements by their ids.

The server renders a page as a whole. While the page is open, a *view* reads its fragments for the URL of the page, and
the page gets those that differ from what it has:

    class Clock:
        async def read(self) -> Fragments:
            return Fragments({"clock": '<p id="clock">14:05</p>'}, {})

        async def wait(self, timeout_s: float) -> None: ...

The version of a fragment is the hash of its HTML. A fragment that is rendered again with the same result is not sent.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from secrets import token_hex
from typing import Protocol

#: Maximum number of pages of which the server knows what they have. Others get all fragments.
MAX_PAGES = 500


@dataclass(frozen=True, slots=True)
class Fragments:
    """The live parts of a page at one moment."""

    #: Id of an element -> its HTML: one element with this id.
    html: Mapping[str, str]
    #: Id of a list -> ids of its elements in their order. Each of them is in `html`.
    lists: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


class View(Protocol):
    """The live parts of one open page."""

    async def read(self) -> Fragments:
        """Return the fragments of this moment."""
        ...

    async def wait(self, timeout_s: float) -> None:
        """Wait until the fragments may differ from those that were read last, at most `timeout_s` seconds."""
        ...


@dataclass(frozen=True, slots=True)
class SentFragments:
    """What a page has: versions of its fragments, and the orders of its lists."""

    versions: Mapping[str, int] = field(default_factory=dict)
    lists: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @classmethod
    def of(cls, fragments: Fragments) -> SentFragments:
        """Return what a page has that got these fragments."""
        return cls({name: hash(html) for name, html in fragments.html.items()}, dict(fragments.lists))

    def changes(self, now: Fragments) -> dict[str, Mapping[str, object]]:
        """Return what the page needs to show `now`; empty: nothing.

        Elements of a list that are no longer in its order are removed by the page.
        """
        html = {name: text for name, text in now.html.items() if self.versions.get(name) != hash(text)}
        lists = {name: list(order) for name, order in now.lists.items() if self.lists.get(name) != order}
        changes: dict[str, Mapping[str, object]] = {"html": html, "lists": lists}
        return changes if html or lists else {}


class SentPages:
    """What the newest pages have, by the token that each page sends when it connects or polls again."""

    def __init__(self) -> None:
        self._instance = token_hex(4)
        self._number = 0
        self._pages: OrderedDict[str, SentFragments] = OrderedDict()

    def get(self, token: str) -> SentFragments:
        """Return what a page has; nothing if the token is unknown, so that the page gets all fragments."""
        return self._pages.get(token) or SentFragments()

    def put(self, sent: SentFragments, *, replaces: str = "") -> str:
        """Store what a page has, in place of what it had before; return the token."""
        self._pages.pop(replaces, None)
        self._number += 1
        token = f"{self._instance}-{self._number}"
        self._pages[token] = sent
        if len(self._pages) > MAX_PAGES:
            self._pages.popitem(last=False)
        return token
