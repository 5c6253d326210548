"""Whether the archive has what is live: SQL read raw, as the auditor reads Redis."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from chaos.audit.evidence import Entry, Evidence, bills
from chaos.script import Finding
from scaling import patient

#: The file in the data folder that the archive is by default.
FILE = "archive.sqlite3"
#: Columns of the session's row that repeat fields of its hash.
SPENT = ("input_tokens", "output_tokens", "requests", "cost_micros")
REPEATED = ("status", "reason", "closed", "messages", *SPENT)


def differences(database: Path, evidence: Evidence) -> list[Finding]:
    """All in which the archive of an ended session is not what is live."""
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True, timeout=patient(30))) as sql:
        return [Finding(evidence.id, "archive", says) for says in _differences(sql, evidence)]


def _differences(sql: sqlite3.Connection, evidence: Evidence) -> Iterator[str]:
    sql.execute("BEGIN")  # all of it is read at one instant
    columns = ", ".join(REPEATED)
    newest = f"SELECT id, {columns} FROM collab WHERE collab_id = ? ORDER BY opened_ms DESC"  # noqa: S608 - names from here
    row = sql.execute(newest, (evidence.id,)).fetchone()
    if row is None:
        yield "the archive does not have it"
        return
    journal = "SELECT at_ms, seq, body FROM collab_event WHERE session = ? ORDER BY at_ms, seq"
    archived = _read(sql, journal, row[0])
    # What comes too late is noted after the end, and archived when the session is looked at once more.
    late = bills(evidence.journal[len(archived) :])
    for name, value in zip(REPEATED, row[1:], strict=True):
        live = evidence.session[name]
        due = str(int(live) - sum(bill[name] for bill in late)) if name in SPENT else live
        if str(value) != due:
            yield f"{name} is {due}, and {value} in the archive"
    said = sql.execute(
        "SELECT at_ms, seq, content FROM message WHERE session = ? ORDER BY at_ms, seq", row[:1]
    )
    if said.fetchall() != [(e.at_ms, e.position, e.says["content"]) for e in evidence.dialog]:
        yield "the dialog is another one in the archive"
    events = "SELECT at_ms, seq, body FROM map_event WHERE session = ? ORDER BY at_ms, seq"
    if _read(sql, events, row[0]) != evidence.events:
        yield "the events are others in the archive"
    ended_ms = evidence.events[-1].at_ms
    at_the_end = sum(entry.at_ms <= ended_ms for entry in evidence.journal)
    if archived != evidence.journal[: max(len(archived), at_the_end)]:
        yield "the journal is another one in the archive"


def _read(sql: sqlite3.Connection, select: str, session: int) -> list[Entry]:
    return [Entry(at_ms, seq, json.loads(body)) for at_ms, seq, body in sql.execute(select, (session,))]
