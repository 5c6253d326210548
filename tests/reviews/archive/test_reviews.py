"""Review runs in the archive: written once, read as they were, and what they save the next run."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from redis import Redis

from review_tools.values import a_finding, a_result, a_run, an_item, findings
from scaling import scaled_examples
from symposia.archive.archive import Archive
from symposia.client.pruning import prune
from symposia.models.errors import ReviewNotFound
from symposia.models.text.ids import new_id, utcnow
from symposia.models.turns.turn import Usage
from symposia.reviews.archive.store import ReviewReader
from symposia.reviews.archive.writer import ReviewPruner, ReviewWriter
from symposia.reviews.comparing import compare_run
from symposia.reviews.values.documents.facts import RepositoryFacts
from symposia.reviews.values.findings import Finding
from symposia.reviews.values.runs import ItemKind, ItemState, ReviewRun, RunState, SkippedItem

ODD = "naïve 日本語 🎭 \n ' \\ ; DROP TABLE finding; --"


def written(archive: Archive, run: ReviewRun) -> ReviewRun:
    ReviewWriter(archive.database).write(run)
    return ReviewReader(archive.database).run(run.id)


def test_run_is_read_back_unchanged(archive: Archive) -> None:
    one = a_result(
        a_finding(message=ODD, suggestion=ODD, aliases=("S1",), snippet_sha="ab", confidence=0.25),
        item=an_item(ODD, text=ODD, kind=ItemKind.CHANGE, changed=((1, 2), (5, 9)), removed=((3, 4),)),
        session_id=new_id(),
        usage=Usage(input_tokens=5, output_tokens=7, cost_micros=9, requests=1),
        summary=ODD,
    )
    other = a_result(path="b.py", state=ItemState.FAILED, error="the agent failed")
    run = a_run(
        *(one, other),
        summary=ODD,
        skipped=(SkippedItem(path="a\nb", reason="is a FIFO"),),
        usage=one.usage,
        revision="abc",
        repository_url="https://github.com/a/b",
        repository_folder=ODD,
        state=RunState.PARTIAL,
    )
    run = compare_run(run, previous=[a_finding(line=99, path=ODD, message="gone")])
    assert len(run.findings) == 2
    assert written(archive, run) == run


@given(st.lists(findings(), max_size=6))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=scaled_examples(25))
def test_findings_are_read_back_unchanged(archive: Archive, found: list[Finding]) -> None:
    run = compare_run(a_run(a_result(*found)))
    assert written(archive, run) == run


def test_nul_character_is_stored_as_a_symbol(archive: Archive) -> None:
    run = written(
        archive, compare_run(a_run(a_result(a_finding(message="a\x00b"), summary="\x00"), summary="\x00"))
    )
    assert (run.summary, run.findings[0].message) == ("\ufffd", "a\ufffdb")


def test_running_run_is_replaced_by_its_newer_state(archive: Archive) -> None:
    first = a_run(a_result(state=ItemState.RUNNING), state=RunState.RUNNING, ended_at=None)
    assert written(archive, first) == first
    last = compare_run(first.model_copy(update={"results": (a_result(a_finding()),), "ended_at": utcnow()}))
    assert written(archive, last) == last
    assert len(ReviewReader(archive.database).listed(9)) == 1


def test_concurrent_writers_of_a_run_write_it_once(archive: Archive) -> None:
    run = compare_run(a_run(a_result(a_finding(), a_finding(line=4))))
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(ReviewWriter(archive.database).write, [run] * 24))
    assert ReviewReader(archive.database).run(run.id) == run


def test_unknown_run_is_not_found(archive: Archive) -> None:
    with pytest.raises(ReviewNotFound, match="review 'x' not found"):
        ReviewReader(archive.database).run("x")


# -- what need not be looked at again ----------------------------------------------------------


def test_reviewed_text_is_a_known_item(archive: Archive) -> None:
    reads = (("b.py", "d1"), ("c\x00.py", ""))
    result = a_result(a_finding(), summary="fine", session_id=new_id(), reads=reads)
    ReviewWriter(archive.database).write(a_run(result))
    known = ReviewReader(archive.database).cached_results("p1", [result.item, an_item("b.py")])
    again = {"state": ItemState.UNCHANGED, "usage": Usage()}
    assert known == {"app.py": result.model_copy(update=again)}


@pytest.mark.parametrize(
    ("panel_sha", "changes"),
    [
        ("p2", {}),
        ("p1", {"text": "import sys\n"}),
        ("p1", {"path": "other.py"}),
        ("p1", {"changed": ((1, 1),)}),
        ("p1", {"facts": RepositoryFacts(missing_files=("b.md",))}),
    ],
    ids=["another panel", "another text", "another path", "other lines", "other facts"],
)
def test_changed_panel_or_item_is_unknown(archive: Archive, panel_sha: str, changes: dict[str, Any]) -> None:
    ReviewWriter(archive.database).write(a_run(a_result(a_finding())))
    assert ReviewReader(archive.database).cached_results(panel_sha, [an_item(**changes)]) == {}


@pytest.mark.parametrize("state", sorted(set(ItemState) - {ItemState.DONE, ItemState.UNCHANGED}))
def test_incomplete_review_is_unknown(archive: Archive, state: ItemState) -> None:
    ReviewWriter(archive.database).write(a_run(a_result(a_finding(), state=state)))
    assert ReviewReader(archive.database).cached_results("p1", [an_item()]) == {}


def test_newest_review_of_a_text_is_used(archive: Archive) -> None:
    for message in ("old", "new"):
        ReviewWriter(archive.database).write(
            a_run(a_result(a_finding(message=message), state=ItemState.UNCHANGED))
        )
    (finding,) = ReviewReader(archive.database).cached_results("p1", [an_item()])["app.py"].findings
    assert finding.message == "new"


def test_many_items_are_read_at_once(archive: Archive) -> None:
    results = [a_result(path=f"{number}.py") for number in range(1_200)]
    ReviewWriter(archive.database).write(a_run(*results))
    assert len(ReviewReader(archive.database).cached_results("p1", [it.item for it in results])) == 1_200


# -- what was found before ---------------------------------------------------------------------


def previous(archive: Archive, **more: Any) -> list[tuple[str, str]]:
    return sorted(
        (it.path, it.rule) for it in ReviewReader(archive.database).previous_findings("shop", "code", **more)
    )


def test_latest_review_of_a_path_counts(archive: Archive) -> None:
    a_old, b_old = (a_result(a_finding(path=path, rule="OLD"), path=path) for path in ("a.py", "b.py"))
    ReviewWriter(archive.database).write(a_run(a_old, b_old))
    ReviewWriter(archive.database).write(a_run(a_result(a_finding(path="a.py", rule="NEW"), path="a.py")))
    ReviewWriter(archive.database).write(a_run(a_result(path="b.py", state=ItemState.FAILED)))
    ReviewWriter(archive.database).write(
        a_run(a_result(a_finding(path="a.py", rule="ELSE"), path="a.py"), panel="other")
    )
    ReviewWriter(archive.database).write(
        a_run(a_result(a_finding(path="a.py", rule="ELSE"), path="a.py"), root_name="x")
    )
    assert previous(archive) == [("a.py", "NEW"), ("b.py", "OLD")]


def test_findings_of_a_deleted_file_are_gone_once(archive: Archive) -> None:
    ReviewWriter(archive.database).write(compare_run(a_run(a_result(a_finding(path="a.py"), path="a.py"))))
    before = ReviewReader(archive.database).previous_findings("shop", "code")
    deleted = compare_run(a_run(), previous=before, is_whole=True)
    assert [it.status for it in deleted.findings] == ["gone"]
    ReviewWriter(archive.database).write(deleted)
    assert previous(archive) == []


def test_repeated_run_is_not_compared_with_itself(archive: Archive) -> None:
    run = a_run(a_result(a_finding()))
    ReviewWriter(archive.database).write(run)
    assert previous(archive) == [("app.py", "F401")]
    assert previous(archive, without=run.id) == []


def test_last_revision_is_of_the_newest_completed_run(archive: Archive) -> None:
    assert ReviewReader(archive.database).last_revision("shop", "code", "s") is None
    began = utcnow()
    for minutes, revision, state in ((0, "r1", "completed"), (1, "r2", "partial"), (2, "", "completed")):
        at = began + timedelta(minutes=minutes)
        run = a_run(revision=revision, state=RunState(state), started_at=at, scope="s")
        ReviewWriter(archive.database).write(run)
    assert ReviewReader(archive.database).last_revision("shop", "code", "s") == "r1"
    assert ReviewReader(archive.database).last_revision("shop", "code", "") is None


# -- lists, and what is forgotten --------------------------------------------------------------


def test_runs_are_listed_newest_first_with_counts(archive: Archive) -> None:
    began = utcnow()
    runs = [
        compare_run(
            a_run(a_result(a_finding()), a_result(path="b.py", state=ItemState.FAILED), started_at=at)
        )
        for at in (began + timedelta(seconds=number) for number in range(5))
    ]
    for run in runs:
        ReviewWriter(archive.database).write(run)
    listed = ReviewReader(archive.database).listed(3)
    rest = ReviewReader(archive.database).listed(9, until_ms=listed[-1][0] - 1)
    assert [it.id for _, it in (*listed, *rest)] == [it.id for it in reversed(runs)]
    assert listed[0][1].items == {"done": 1, "failed": 1}
    assert listed[0][1].findings == {"new": 1}
    assert listed[0][1].severities == {"medium": 1}
    assert listed[0][1].failure.endswith("(b.py)")


def test_run_is_found_by_a_short_id(archive: Archive) -> None:
    run = a_run()
    ReviewWriter(archive.database).write(run)
    assert ReviewReader(archive.database).ids(run.id[:6]) == [run.id]
    assert ReviewReader(archive.database).ids("%") == []


def test_pruning_removes_old_runs_but_the_newest(client: Redis, archive: Archive) -> None:
    long_ago = utcnow() - timedelta(days=100)
    old, newest = (a_run(a_result(a_finding()), started_at=long_ago, ended_at=long_ago) for _ in range(2))
    for run in (old, newest):
        ReviewWriter(archive.database).write(compare_run(run))
    before_ms = round(utcnow().timestamp() * 1000)
    assert prune(archive, client, before_ms=before_ms, dry_run=True).reviews == 1
    assert prune(archive, client, user="42").reviews == 0
    assert prune(archive, client, before_ms=before_ms).reviews == 1
    assert [it.id for _, it in ReviewReader(archive.database).listed(9)] == [newest.id]
    assert ReviewReader(archive.database).ids(old.id) == []
    assert len(ReviewReader(archive.database).run(newest.id).findings) == 1


def test_pruning_a_session_removes_its_findings(archive: Archive) -> None:
    keys = [f"session:{new_id()}" for _ in range(2)]
    results = [a_result(a_finding(path=key), item=an_item(key, kind=ItemKind.SESSION)) for key in keys]
    run = compare_run(a_run(*results))
    ReviewWriter(archive.database).write(run)
    ReviewPruner(archive.database).delete_session_results([keys[0].removeprefix("session:")])
    left = ReviewReader(archive.database).run(run.id)
    assert [it.item.key for it in left.results] == keys[1:]
    assert [it.path for it in left.findings] == keys[1:]
