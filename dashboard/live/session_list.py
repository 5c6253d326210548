"""The sessions in memory: all unfinished ones, and the newest that ended.

Rows enter the list in another order than their changes were written, so each change has a number, the revision. A
page that was disconnected gets the changes after its revision. From another process, whose revisions differ, it gets
the rows whose newest stream entry is at its position or later, with an overlap.
"""

from __future__ import annotations

import asyncio
import re
from collections import deque
from secrets import token_hex
from typing import NamedTuple

from ...models.errors import InvalidInput
from ...models.text.ids import entry_key
from ...models.text.redact import json_text
from ..views.collab_list import count_rows
from ..views.collab_row import CollabRow
from .positions import BEGINNING, newest_position

#: Number of ended sessions in memory. Others are listed from the archive.
KEPT_ENDED = 1_000
#: Milliseconds before the position of a page from another process from which rows are sent again.
OVERLAP_MS = 10_000
_CURSOR = re.compile(r"(\d{1,15}(?:-\d{1,15})?)(?:\.([0-9a-f]{1,32})-(\d{1,15}))?")


class Cursor(NamedTuple):
    """Position of a page in the list of sessions; as text `POSITION.INSTANCE-REVISION`."""

    position: str
    #: The list that sent it; empty: unknown.
    instance: str = ""
    #: Number of the change in that list.
    revision: int = 0

    def __str__(self) -> str:
        return f"{self.position}.{self.instance}-{self.revision}"


def read_cursor(text: str, *, name: str) -> Cursor:
    """Return a cursor that a client sent, or a position only.

    Raises:
        InvalidInput: It is neither; the error has the name of the field.
    """
    if (match := _CURSOR.fullmatch(text)) is None:
        raise InvalidInput(name, text, "must be a position from an earlier answer")
    position, instance, revision = match.groups()
    return Cursor(position, instance or "", int(revision or 0))


class ListedRow:
    """A row with its JSON, which is made once for all readers."""

    __slots__ = ("_text", "cursor", "row")

    def __init__(self, row: CollabRow, cursor: Cursor) -> None:
        self.row = row
        #: Position of a page that has this row and all earlier changes.
        self.cursor = cursor
        self._text: str | None = None

    @property
    def text(self) -> str:
        """Return the row as JSON."""
        if self._text is None:
            self._text = json_text(self.row)
        return self._text


class Changes(NamedTuple):
    """Changes since a cursor."""

    #: Rows, oldest change first.
    rows: list[ListedRow]
    #: Ids of removed sessions.
    removed: list[str]
    #: False: further changes are no longer in memory, so the page must be loaded again.
    is_complete: bool


class SessionList:
    """Rows of sessions by id, in the order of their changes in this process."""

    def __init__(self) -> None:
        self._instance = token_hex(4)
        self._rows: dict[str, ListedRow] = {}
        self._changed = asyncio.Event()
        self._notified = 0
        #: Newest removed sessions, with the revision of each.
        self._removed: deque[tuple[int, str]] = deque(maxlen=KEPT_ENDED)
        self._incomplete_until_ms = 0
        #: Revision of the newest change that is no longer in memory.
        self._forgotten = 0
        self._counts: dict[str, int] = {}
        self._counts_text = ""
        #: Revision of the counts.
        self._counted = -1
        #: Number of the newest change.
        self.revision = 0
        #: Position of the newest change.
        self.position = BEGINNING

    def __len__(self) -> int:
        return len(self._rows)

    def __contains__(self, session_id: object) -> bool:
        return session_id in self._rows

    def get(self, session_id: str) -> CollabRow | None:
        """Return the row of a session; None: it is not in memory."""
        listed = self._rows.get(session_id)
        return None if listed is None else listed.row

    def rows(self) -> list[CollabRow]:
        """Return all rows."""
        return [listed.row for listed in self._rows.values()]

    def put(self, row: CollabRow) -> None:
        """Add or replace a row; readers see it after `notify`. An equal row changes nothing."""
        before = self._rows.get(row["id"])
        if before is not None and before.row == row:
            return
        self.revision += 1
        self._rows.pop(row["id"], None)
        self._rows[row["id"]] = ListedRow(row, Cursor(row["position"], self._instance, self.revision))
        self.position = newest_position((self.position, row["position"]))

    @property
    def cursor(self) -> Cursor:
        """Return the cursor of a page that has all rows."""
        return Cursor(self.position, self._instance, self.revision)

    def drop_old(self) -> None:
        """Remove the oldest ended sessions beyond `KEPT_ENDED`."""
        ended = [listed for listed in self._rows.values() if listed.row["ended_ms"] is not None]
        if len(ended) > KEPT_ENDED:
            ended.sort(key=lambda listed: listed.row["ended_ms"] or 0)
            for listed in ended[: len(ended) - KEPT_ENDED]:
                del self._rows[listed.row["id"]]
                self._forgotten = max(self._forgotten, listed.cursor.revision)
                self.mark_incomplete(entry_key(listed.row["position"])[0])

    def mark_incomplete(self, until_ms: int) -> None:
        """Record that sessions that changed until a time (milliseconds since the epoch) may not be in memory."""
        self._incomplete_until_ms = max(self._incomplete_until_ms, until_ms)
        # A page that is loaded now is complete: its position must not be before this time.
        self.position = newest_position((self.position, f"{until_ms}-0"))

    def changes_since(self, cursor: Cursor) -> Changes:
        """Return what changed since a cursor, or since the position of a cursor of another process."""
        if cursor.instance == self._instance:
            rows, removed = self.changed_after(cursor.revision), self.removed_after(cursor.revision)
            return Changes(rows, removed, cursor.revision >= self._forgotten)
        at_ms = entry_key(cursor.position)[0]
        rows = [
            listed
            for listed in self._rows.values()
            if entry_key(listed.row["position"])[0] >= at_ms - OVERLAP_MS
        ]
        return Changes(rows, self.removed_after(0), at_ms >= self._incomplete_until_ms)

    def remove(self, session_id: str) -> None:
        """Remove a session that has expired; readers see it after `notify`."""
        if self._rows.pop(session_id, None) is not None:
            self.revision += 1
            if len(self._removed) == KEPT_ENDED:
                self._forgotten = max(self._forgotten, self._removed[0][0])
            self._removed.append((self.revision, session_id))

    def has_ended(self, session_id: str) -> bool:
        """Return whether a session is in memory and has ended."""
        listed = self._rows.get(session_id)
        return listed is not None and listed.row["ended_ms"] is not None

    def ended_before(self, at_ms: int) -> list[str]:
        """Return the sessions that ended before a time, in milliseconds since the epoch."""
        return [name for name, listed in self._rows.items() if (listed.row["ended_ms"] or at_ms) < at_ms]

    def removed_after(self, revision: int) -> list[str]:
        """Return the sessions that were removed after a revision, and were not added again."""
        return [name for at, name in self._removed if at > revision and name not in self._rows]

    def changed_after(self, revision: int) -> list[ListedRow]:
        """Return the rows that changed after a revision, oldest change first. The cost is O(changed rows)."""
        changed = []
        for listed in reversed(self._rows.values()):
            if listed.cursor.revision <= revision:
                break
            changed.append(listed)
        return changed[::-1]

    @property
    def counts(self) -> dict[str, int]:
        """Return the number of sessions by status, and by attention."""
        if self._counted != self.revision:
            self._counted, self._counts = self.revision, count_rows(self.rows())
            self._counts_text = json_text(self._counts)
        return self._counts

    @property
    def counts_text(self) -> str:
        """Return the counts as JSON."""
        return self._counts_text if self.counts else ""

    def notify(self) -> None:
        """Wake all readers that wait for a change, if there is one."""
        if self._notified == self.revision:
            return
        self._notified = self.revision
        self._changed.set()
        self._changed = asyncio.Event()

    async def wait_for_change(self, revision: int, *, timeout_s: float) -> bool:
        """Wait until the list has a newer revision; return False after `timeout_s` seconds without one."""
        if self.revision > revision:
            return True
        try:
            async with asyncio.timeout(timeout_s):
                await self._changed.wait()
        except TimeoutError:
            return False
        return True
