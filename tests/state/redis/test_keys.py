"""The literal keys: operators and upgrades of workers rely on them."""

from sessions.table import turn
from symposia.models.sessions.plan import BoardEntry
from symposia.models.turns.items import WorkItem
from symposia.state.redis.keys import (
    PERMANENT,
    TOKEN_INDEX,
    calls_key,
    lock_key,
    review_key,
    session_key,
    token_key,
)

ID = "0b5d7f0e-6c1c-4c58-9d4b-0a4f1f4f8c11"


def test_session_keys_share_its_hash_tag():
    assert [
        session_key(ID, part) for part in ("session", "dialog", "events", "journal", "turns", "board")
    ] == [
        f"symposia:{{{ID}}}:session",
        f"symposia:{{{ID}}}:dialog",
        f"symposia:{{{ID}}}:events",
        f"symposia:{{{ID}}}:journal",
        f"symposia:{{{ID}}}:turns",
        f"symposia:{{{ID}}}:board",
    ]


def test_lock_key_has_the_scope():
    assert lock_key(ID, "floor") == f"symposia:{{{ID}}}:lock:floor"
    assert lock_key(ID, "slot:ann") == f"symposia:{{{ID}}}:lock:slot:ann"


def test_finished_calls_key_has_the_turn_number():
    assert calls_key(ID, 7) == f"symposia:{{{ID}}}:calls:7"


def test_batch_review_keys_share_its_hash_tag():
    assert review_key(ID, "batch") == f"symposia:{{review:{ID}}}:batch"
    assert review_key(ID, "text:7") == f"symposia:{{review:{ID}}}:text:7"


def test_token_keys_share_a_hash_tag():
    assert token_key("0a1b") == "symposia:{tokens}:token:0a1b"
    assert TOKEN_INDEX == "symposia:{tokens}:index"


def test_only_the_indexes_are_permanent():
    assert {
        "symposia:due",
        "symposia:owed",
        "symposia:sessions",
        "symposia:inbox",
        "symposia:workers",
        "symposia:reviews",
        "symposia:reviews:due",
        "symposia:reviews:decisions",
        "symposia:deliveries",
        "symposia:{metrics}:live",
        "symposia:{metrics}:counts",
    } == PERMANENT


def test_session_makes_only_documented_keys(table):
    item = WorkItem(item_id="i1", text="do it")
    board = (BoardEntry(item=item, status="open"),)
    first, second = table.plan(turn(), turn("bob", "slot:bob"), board=board)
    table.grant(first)
    table.commit(table.grant(second, scope="slot:bob"), "hello")
    parts = ("session", "dialog", "events", "journal", "turns", "board", "lock:floor")
    assert set(table.client.scan_iter("*")) == {session_key(table.id, part) for part in parts}
