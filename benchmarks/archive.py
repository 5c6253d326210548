"""How long the archive takes to write, list and search 100,000 messages, on SQLite (or the URL given).

.venv/bin/python benchmarks/archive.py [--messages 100000] [--url postgresql://...]
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from symposia.archive.archive import Archive
from symposia.archive.results import SessionFilter
from symposia.models.protocol.collab import Collab, Participant
from symposia.models.protocol.dialog import Role, build_turn_message
from symposia.models.sessions.archived import STREAM_STARTS, ArchivePage, Documents, Snapshot
from symposia.models.text.ids import new_id, utcnow
from symposia.workspace.sql.store import deliver_to_conversation

#: Messages of one session.
EACH = 100
WORDS = ("door", "blue", "lamp", "river", "stone", "paper", "cloud", "seven", "quiet", "engine")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--messages", type=int, default=100_000)
    parser.add_argument("--url", help="a database other than a SQLite file in a temporary folder")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        archive = Archive(
            chosen.url or f"sqlite:///{Path(folder) / 'archive.sqlite3'}", deliver_to_conversation
        )
        archive.prepare()
        began = time.perf_counter()
        for number in range(chosen.messages // EACH):
            archive.writer.write(session(number), None)  # type: ignore[arg-type]  # its one page is whole
        spent = time.perf_counter() - began
        print(
            f"{chosen.messages:,} messages written in {spent:.1f} s, {chosen.messages / spent:,.0f} a second"
        )
        measure(archive)
        archive.close()


def measure(archive: Archive) -> None:
    reader = archive.reader
    middle = reader.page(limit=500).cursor
    deep = reader.search("door", limit=1_000).cursor
    measure_query("the first page of 50 sessions", reader.page)
    measure_query("a page after 500 sessions", lambda: reader.page(after=middle))
    measure_query("a page of one status", lambda: reader.page(SessionFilter(status="active")))
    measure_query("a page of one participant", lambda: reader.page(SessionFilter(participant="p7")))
    measure_query("a page of one tag", lambda: reader.page(SessionFilter(tag="t3")))
    measure_query("messages with a frequent word", lambda: reader.search("door"))
    measure_query("messages with it, after 1,000", lambda: reader.search("door", after=deep))
    measure_query("messages with two words", lambda: reader.search("door lamp"))
    measure_query("messages with a rare word", lambda: reader.search("needle77"))
    measure_query("messages with no such word", lambda: reader.search("nowhere"))
    measure_query("messages with a word and a tag", lambda: reader.search("door", SessionFilter(tag="t3")))


def measure_query(what: str, ask: Callable[[], object], *, times: int = 30) -> None:
    took = []
    for _ in range(times):
        began = time.perf_counter()
        ask()
        took.append((time.perf_counter() - began) * 1000)
    print(f"{what:<34} median {statistics.median(took):7.2f} ms   most {max(took):7.2f} ms")


def session(number: int) -> ArchivePage:
    """A session of 100 messages, as one page."""
    people = [Participant(participant_id=f"p{(number + offset) % 20}") for offset in range(2)]
    collab = Collab(
        title=f"Session {number}",
        purpose="measure",
        mode="round_robin",
        participants=people,
        meta={"tags": [f"t{number % 10}"]},
    )
    at_ms = 1_700_000_000_000 + number * 1_000
    fields = {"status": "active", "dialog_status": "active", "updated_ms": str(at_ms), "messages": str(EACH)}
    return ArchivePage(
        session_id=collab.collab_id,
        opened_ms=at_ms,
        documents=Documents(collab.to_json(), "{}"),
        since=STREAM_STARTS,
        dialog=tuple((f"{at_ms + turn}-0", message(number, turn)) for turn in range(EACH)),
        snapshot=Snapshot(fields, {}, {}),
    )


def message(number: int, turn: int) -> str:
    text = " ".join(WORDS[(number * 7 + turn * step) % len(WORDS)] for step in range(1, 40))
    needle = f" needle{number}" if turn == 0 else ""
    return build_turn_message(
        Role.AGENT,
        text + needle,
        timestamp=utcnow(),
        participant_id="p1",
        turn_number=turn,
        token_id=new_id(),
        fence=turn,
    ).to_json()


if __name__ == "__main__":
    main()
