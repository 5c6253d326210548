"""Archived sessions of many kinds for searches, and queries about them."""

from __future__ import annotations

import json
from random import Random

from hypothesis import strategies as st

from symposia.archive.archive import Archive
from symposia.models.protocol.collab import Collab
from symposia.models.sessions.archived import STREAM_STARTS, ArchivePage, Documents, Snapshot
from symposia.models.sessions.query import GROUPS, SORT_FIELDS
from symposia.models.sessions.shown_status import ShownStatus

NOW_MS = 1_800_000_000_000
_DAY_MS = 86_400_000
TITLES = ("École 100%", "a_b Map", "map of the école", "Ünder\\way", 'say "writer"')
PEOPLE = ("ann", "bob", "Zoë")
AGENTS = ("writer", "critic_2", 'odd "name"')
ERRORS = ("RuntimeError: disk full at 17 of 20", "TimeoutError: École 50% done", "bob: nested")
ENDS = (
    ("active", None, None),
    ("suspended", None, None),
    ("completed", "max_rounds", "3 of 3 rounds"),
    ("completed", "token_budget", "1,587 of 1,500 tokens"),
    ("cancelled", "token_budget+deadline", "before any turn was completed"),
    ("cancelled", "wrong map", ""),
    ("cancelled", "no_answer", "bob did not answer"),
)


def write_sessions(archive: Archive, count: int = 60) -> None:
    """Archive sessions of many kinds, some with equal values in each order."""
    random = Random(42)
    archive.writer.write_all([_page(random) for _ in range(count)])


def failed_page(detail: str) -> ArchivePage:
    """A session that ended by a failure with this detail."""
    return _page(Random(42), ("cancelled", "failed", detail))


def _page(random: Random, end: tuple[str, str | None, str | None] | None = None) -> ArchivePage:
    names = random.sample(PEOPLE, random.randint(1, 3))
    collab = Collab.model_validate(
        {
            "title": random.choice(TITLES),
            "purpose": "is found",
            "mode": random.choice(["pair", "swarm", "broadcast"]),
            "participants": [
                {"participant_id": name, "display_name": name.upper()} for name in [*names, "zed"]
            ],
            "meta": {"tags": random.sample(["red", "blue"], random.randint(0, 2))},
        }
    )
    spec = {"agents": {name: {"agent": random.choice(AGENTS)} for name in names}}
    spec |= random.choice([{}, {"tenant": "press"}, {"tenant": "shop", "memory": {"user_id": "42"}}])
    spec |= random.choice([{}, {"thread_id": f"{'7' * 8}-0000-4000-8000-{'0' * 12}"}])
    status, reason, detail = end or random.choice(
        [*ENDS, *(("cancelled", "failed", f"{names[0]}: {error}") for error in ERRORS)]
    )
    opened_ms = NOW_MS - random.randint(0, 8) * _DAY_MS
    updated_ms = opened_ms + random.randint(0, 3) * 60_000
    fields = {
        "status": status,
        "dialog_status": "active",
        "updated_ms": updated_ms,
        "closed": random.randint(0, 2),
        "input_tokens": random.randint(0, 2),
        "output_tokens": 5,
        "cost_micros": random.randint(0, 2) * 500_000,
    }
    if reason is not None:
        fields |= {"reason": reason, "detail": detail, "ended_ms": updated_ms}
    ends = [
        {
            "event_type": "MAPTurnCompleted",
            "timestamp": "2026-11-28T14:00:00+00:00",
            "payload": {
                "token_id": name,
                "turn_number": number,
                "participant_id": name,
                "result": {"outcome": "completed", "usage": {"cost_micros": number * 100_000}},
            },
        }
        for number, name in enumerate(names, start=1)
    ]
    return ArchivePage(
        session_id=collab.collab_id,
        opened_ms=opened_ms,
        documents=Documents(collab.to_json(), json.dumps(spec, ensure_ascii=False)),
        since=STREAM_STARTS,
        events=tuple((f"{number}-0", json.dumps(end)) for number, end in enumerate(ends, start=1)),
        snapshot=Snapshot({name: str(value) for name, value in fields.items()}, {}, {}),
    )


def _one_of(*values: str) -> st.SearchStrategy[str]:
    return st.sampled_from(("", *values))


_TEXTS = _one_of("éCOLE", "a_b", "50%", "bob", "ZO", "writer", 'odd "name"', "\\", "77777777", "disk FULL")
#: Parameters of a query, most of them left out.
PARAMS = st.fixed_dictionaries(
    {},
    optional={
        "q": _TEXTS,
        "error": _TEXTS,
        "status": st.lists(st.sampled_from([*ShownStatus]), max_size=3, unique=True).map(",".join),
        "mode": _one_of("pair", "swarm"),
        "tenant": _one_of("press", "nobody"),
        "agent": _one_of(*AGENTS, *PEOPLE, "RITER", "zed"),
        "tag": _one_of("red", "Red"),
        "user": _one_of("42"),
        "thread": _one_of(f"{'7' * 8}-0000-4000-8000-{'0' * 12}"),
        "cost_min": _one_of("0.5", "0.500001", "1"),
        "since": _one_of("3d", "2w", "2027-01-12T08:00:00Z"),
        "until": _one_of("1d", "2027-01-13"),
        "sort": st.sampled_from([sign + name for name in SORT_FIELDS for sign in ("", "-")]),
        "group": st.sampled_from(GROUPS),
        "page": st.sampled_from(["1", "2", "3", "9"]),
        "per_page": st.sampled_from(["1", "7", "50"]),
    },
)
