"""The rows in memory that fit one query, kept up to date row by row. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from ...models.sessions.grouping import AgentCosts, SessionGroup, groups_of
from ...models.sessions.query import SessionQuery, attention_name, sort_value
from ...models.sessions.query_words import older_unfinished
from .collab_row import CollabRow


class MatchingRows:
    """The rows that fit a query.

    Args:
        query: The query.
        rows: All rows in memory.
        now_ms: Time from which ages count, in milliseconds since the epoch. Its bounds of time do not move.
    """

    def __init__(self, query: SessionQuery, rows: Iterable[CollabRow], *, now_ms: int) -> None:
        self.query = query
        self.now_ms = now_ms
        #: Those that fit all filters but `status` and `attention`.
        self._fitting: dict[str, CollabRow] = {}
        #: Sort keys of those that fit all filters.
        self._keys: dict[str, tuple[Any, str]] = {}
        since, _ = query.opened_between(now_ms)
        #: The query of older sessions that have not ended; None: there is no first time.
        self.older_query = None if since is None else older_unfinished(query)
        self._older: set[str] = set()
        self.take(rows)

    def take(self, rows: Iterable[CollabRow]) -> None:
        """Add or replace rows. The cost is O(rows)."""
        for row in rows:
            session_id = row["id"]
            self.remove([session_id])
            if self.query.fits(row, now_ms=self.now_ms):
                self._fitting[session_id] = row
                if self.query.has_status(row):
                    self._keys[session_id] = sort_value(row, self.query, self.now_ms)
            if self.older_query is not None and self.older_query.matches(row, now_ms=self.now_ms):
                self._older.add(session_id)

    def remove(self, session_ids: Iterable[str]) -> None:
        """Remove rows."""
        for session_id in session_ids:
            self._fitting.pop(session_id, None)
            self._keys.pop(session_id, None)
            self._older.discard(session_id)

    def __len__(self) -> int:
        return len(self._keys)

    @property
    def older(self) -> int:
        """Number of sessions opened before the first time that have not ended and fit the other filters."""
        return len(self._older)

    def counts(self) -> Mapping[str, int]:
        """Return the number of rows by status as shown and by kind of attention, of all filters but these two."""
        rows = self._fitting.values()
        counts = Counter(row["shown"] for row in rows)
        counts.update(kind for row in rows if (kind := attention_name(row["attention"])))
        return {**counts, "all": len(rows)}

    def keyed(self, now_ms: int) -> list[tuple[tuple[Any, str], CollabRow]]:
        """Return the rows that match, each with its sort key at a time."""
        if self.query.sort_key == "duration":  # of those that run it grows
            return [
                (sort_value(self._fitting[name], self.query, now_ms), self._fitting[name])
                for name in self._keys
            ]
        return [(key, self._fitting[name]) for name, key in self._keys.items()]

    def groups(self, agent_costs: AgentCosts) -> list[SessionGroup]:
        """Return a group of one session for each row that matches, and each of its names."""
        return [
            group
            for row in map(self._fitting.__getitem__, self._keys)
            for group in groups_of(row, self.query.group, agent_costs)
        ]
