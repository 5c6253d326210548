"""Batches on real workers: one session an item, its findings as data, and one run at the end."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest

from live import result_of, until
from review_tools.fixture import ReviewInstallation, panel, read
from symposia.cli.reviews import local_review as reviewing_here
from symposia.models.errors import InvalidInput, ReviewNotFound, SessionNotFound
from symposia.models.text.ids import new_id
from symposia.models.turns.turn import Usage
from symposia.reviews.batches.batch import advance_batch, advance_item
from symposia.reviews.batches.item_sessions import item_session_id
from symposia.reviews.state.queues import ReviewIndex
from symposia.reviews.values.runs import ItemState, RunState
from symposia.state.sessions.store import SessionStore
from symposia.state.worker_routes import AwaitedAgents
from symposia.workers.local.supervisor import ShutdownFlag

DEADLINE_S = 50


def texts(count: int):
    return [read(f"f{number}.txt", f"text {number}\n") for number in range(1, count + 1)]


def states(run):
    return {it.item.path: it.state.value for it in run.results}


@pytest.fixture
def begun(installation: ReviewInstallation):
    """The review context, and a review of one item that may begin; no worker runs."""
    context = installation.client._installation.reviews
    job = installation.review(panel("finds"), texts(1))
    advance_batch(context, job.id)
    return context, job


def test_each_item_is_reviewed_once(shared: ReviewInstallation):
    run = result_of(shared.review(panel("finds"), texts(6)), timeout_s=DEADLINE_S)
    assert (run.state, run.summary) == (RunState.COMPLETED, "6 items: 6 done.")
    assert sorted(shared.calls()) == sorted(it.item.path for it in texts(6))
    assert [it.path for it in run.findings] == [f"f{number}.txt" for number in range(1, 7)]
    assert {(it.start_line, it.rule, it.agents, it.status) for it in run.findings} == {
        (1, "T1", ("finds",), "new")
    }
    assert {it.summary for it in run.results} == {"one in line 1"}


def test_panel_limits_the_parallel_sessions(shared: ReviewInstallation):
    job = shared.review(panel("gated", parallel=2), texts(5))
    until(lambda: len(shared.calls()) == 2, timeout_s=DEADLINE_S, what="two are at work")
    view = job.progress()
    assert (view.running, view.waiting, view.settled) == (2, 3, 0)
    (shared.folder / "gate").touch()
    assert result_of(job, timeout_s=DEADLINE_S).state is RunState.COMPLETED
    assert len(shared.calls()) == 5


@pytest.mark.long
@pytest.mark.leaves_keys
def test_known_items_are_not_reviewed_again(installation: ReviewInstallation):
    installation.archive = True
    installation.start_worker()
    first = result_of(installation.review(panel("finds"), texts(3)), timeout_s=DEADLINE_S)
    calls = len(installation.calls())
    second = result_of(installation.review(panel("finds"), texts(4)), timeout_s=DEADLINE_S)
    assert installation.calls()[calls:] == ["f4.txt"]
    assert list(states(second).values()) == ["unchanged"] * 3 + ["done"]
    assert [it.status for it in second.findings] == ["still"] * 3 + ["new"]
    assert [it.fingerprint for it in second.findings[:3]] == [it.fingerprint for it in first.findings]
    third = result_of(installation.review(panel("finds"), texts(3), everything=True), timeout_s=DEADLINE_S)
    assert len(installation.calls()) == calls + 1 + 3
    assert set(states(third).values()) == {"done"}


def test_failed_item_is_reported_beside_the_findings(shared: ReviewInstallation):
    reads = [read("good.txt", "x"), read("bad.txt", "x")]
    run = result_of(shared.review(panel("finds", "fails", attempts=2), reads), timeout_s=DEADLINE_S)
    assert run.state is RunState.PARTIAL
    assert states(run) == {"good.txt": "done", "bad.txt": "failed"}
    (bad,) = (it for it in run.results if it.state is ItemState.FAILED)
    assert bad.error.startswith("fails: RuntimeError: cannot read this (stub_agents/review.py:")
    assert [it.agents for it in bad.findings] == [("finds",)]
    assert shared.calls().count("bad.txt") == 4, "both reviewers, in both attempts"


def test_failed_items_are_retried(shared: ReviewInstallation):
    job = shared.review(panel("fails", attempts=1), [read("good.txt", "x"), read("bad.txt", "x")])
    assert result_of(job, timeout_s=DEADLINE_S).state is RunState.PARTIAL
    (shared.folder / "repaired").touch()
    assert job.retry() == 1
    run = result_of(job, timeout_s=DEADLINE_S)
    assert (run.state, states(run)) == (RunState.COMPLETED, {"good.txt": "done", "bad.txt": "done"})
    assert shared.calls().count("good.txt") == 1
    assert job.retry() == 0


def test_cancelled_batch_keeps_its_findings(shared: ReviewInstallation):
    job = shared.review(panel("gated", parallel=1), texts(3))
    until(shared.calls, timeout_s=DEADLINE_S, what="the first is at work")
    with pytest.raises(InvalidInput, match="must have ended"):
        job.retry()
    (shared.folder / "gate").touch()
    until(lambda: job.progress().done, timeout_s=DEADLINE_S, what="one is done")
    (shared.folder / "gate").unlink(missing_ok=True)
    job.cancel("enough")
    run = result_of(job, timeout_s=DEADLINE_S)
    assert run.state in (RunState.CANCELLED, RunState.COMPLETED)
    done = job.progress().done
    assert done >= 1
    assert len(run.findings) - done in (0, 1), "of the one that was under way, what was said by then"
    assert set(states(run).values()) <= {"done", "cancelled"}


def test_item_of_a_stopped_batch_is_cancelled(begun):
    context, job = begun
    advance_item(context, job.id, 1)  # opens its session

    class StoppedNow(SessionStore):
        def state(self, session_id):
            job.cancel("enough")
            return super().state(session_id)

    advance_item(replace(context, sessions=StoppedNow(context.sessions.client)), job.id, 1)
    assert states(job.run()) == {"f1.txt": "cancelled"}


@pytest.mark.parametrize("is_settled", [False, True], ids=["under-way", "settled"])
def test_session_opened_after_the_stop_is_cancelled(begun, is_settled: bool):
    context, job = begun
    record = context.store.item(job.id, 1)
    assert record is not None

    class StoppedNow:
        def open(self, submission):
            job.cancel("enough")
            if is_settled:
                advance_item(context, job.id, 1)
            return context.opener.open(submission)

    advance_item(replace(context, opener=StoppedNow()), job.id, 1)
    assert context.sessions.state(item_session_id(job.id, 1, record.attempt)).is_final
    advance_item(context, job.id, 1)
    assert states(job.run()) == {"f1.txt": "cancelled"}


def test_open_session_of_a_stopped_batch_is_settled(begun):
    context, job = begun
    advance_item(context, job.id, 1)
    context.store.stop(job.id, outcome="cancelled", reason="enough")  # by who found no session to cancel
    told = []

    class Told:
        def send_items(self, batch_id, numbers):
            told.append((batch_id, list(numbers)))

    advance_item(replace(context, queue=Told()), job.id, 1)
    assert told == [(job.id, [1])]
    advance_item(context, job.id, 1)
    assert states(job.run()) == {"f1.txt": "cancelled"}


@pytest.mark.long
def test_item_retried_meanwhile_begins_once(installation: ReviewInstallation, begun):
    context, job = begun
    first = context.store.item(job.id, 1)
    assert first is not None

    class AskedAgainNow(SessionStore):
        def state(self, session_id):
            job.cancel("enough")
            advance_item(context, job.id, 1)
            advance_batch(context, job.id)
            assert job.retry() == 1
            advance_batch(context, job.id)
            return super().state(session_id)

    advance_item(replace(context, sessions=AskedAgainNow(context.sessions.client)), job.id, 1)
    with pytest.raises(SessionNotFound):
        context.sessions.state(item_session_id(job.id, 1, first.attempt))
    installation.start_worker()
    assert result_of(job, timeout_s=DEADLINE_S).state is RunState.COMPLETED
    assert installation.calls() == ["f1.txt"]


@pytest.mark.parametrize("who", ["who ends it", "who finds that it has ended"])
def test_batch_retried_meanwhile_is_checked(begun, who: str):
    context, job = begun
    job.cancel("enough")

    class RetriedNow(ReviewIndex):
        def remove_batch(self, batch_id):
            assert job.retry() == 1
            super().remove_batch(batch_id)

    retried_now = replace(context, index=RetriedNow(context.index._client))
    if who == "who ends it":
        advance_item(retried_now, job.id, 1)
    else:
        advance_item(context, job.id, 1)
        advance_batch(retried_now, job.id)
    assert job.progress().state == "running"
    assert context.index.time_of(job.id) is not None


def test_text_is_deleted_after_the_opener_died(begun):
    context, job = begun

    class Dies:
        def open(self, submission):
            context.opener.open(submission)
            raise SystemExit

    with pytest.raises(SystemExit):
        advance_item(replace(context, opener=Dies()), job.id, 1)
    context.sessions.cancel(item_session_id(job.id, 1, 1), reason="over", retention_ms=context.retention_ms)
    assert context.store.text(job.id, 1) is not None
    advance_item(context, job.id, 1)
    assert context.store.text(job.id, 1) is None


@pytest.mark.long
def test_second_interrupt_reports_at_once(installation: ReviewInstallation, monkeypatch):
    monkeypatch.setattr(reviewing_here, "_INTERRUPT_GRACE_S", 3_600)
    job = installation.review(panel("finds"), texts(2))
    advance_batch(installation.client._installation.reviews, job.id)  # no worker will ever look at them

    class Interrupted:
        shutdown_flag = ShutdownFlag()
        checks = 0

        def check_services(self):
            self.checks += 1
            if self.checks == 1:
                raise KeyboardInterrupt
            self.shutdown_flag.set()

    watcher = SimpleNamespace(show_line=lambda _: None, show_progress=lambda _: None)
    run = reviewing_here._wait_for_end(job, Interrupted(), watcher)
    assert (run.state, job.progress().state) == (RunState.CANCELLED, "stopping")


@pytest.mark.long
def test_cancelled_items_can_be_retried(installation: ReviewInstallation):
    job = installation.review(panel("finds", parallel=1), texts(3))
    job.cancel("no worker yet")
    installation.start_worker()
    run = result_of(job, timeout_s=DEADLINE_S)
    assert (run.state, set(states(run).values())) == (RunState.CANCELLED, {"cancelled"})
    assert "no worker yet" in run.summary
    assert job.retry() == 3
    run = result_of(job, timeout_s=DEADLINE_S)
    assert (run.state, sorted(installation.calls())) == (RunState.COMPLETED, ["f1.txt", "f2.txt", "f3.txt"])


def test_batch_stays_within_its_budget(shared: ReviewInstallation):
    asked = panel("spends", parallel=1, batch={"max_tokens": 250})
    run = result_of(shared.review(asked, texts(5)), timeout_s=DEADLINE_S)
    assert run.state is RunState.PARTIAL
    assert run.usage.tokens <= 300, "at most one turn more than there was"
    assert "cancelled" in states(run).values()
    assert "budget of tokens exhausted" in run.summary


@pytest.mark.long
def test_batch_over_time_ends_with_its_findings(installation: ReviewInstallation):
    installation.start_worker()
    job = installation.review(panel("gated", parallel=1, batch={"max_s": 1}), texts(2))
    run = result_of(job, timeout_s=DEADLINE_S)
    assert run.state is RunState.PARTIAL
    assert "time limit exceeded" in run.summary
    assert set(states(run).values()) == {"cancelled"}


def test_empty_source_makes_an_empty_run(installation: ReviewInstallation):
    run = result_of(installation.review(panel("finds"), []), timeout_s=DEADLINE_S)
    assert (run.state, run.results, run.summary) == (RunState.COMPLETED, (), "Nothing to review.")


def test_items_outside_the_panel_are_skipped(installation: ReviewInstallation):
    run = result_of(
        installation.review(panel("finds", files=["*.py"]), [*texts(1), read("blank.py", " \n")]),
        timeout_s=DEADLINE_S,
    )
    assert {it.path: it.reason for it in run.skipped} == {
        "f1.txt": "the panel reviews *.py only",
        "blank.py": "empty",
    }


def test_items_wait_for_a_worker_with_their_agent(shared: ReviewInstallation):
    job = shared.review(panel("nobody", attempts=1), texts(1))
    awaited = AwaitedAgents(shared.client._installation.redis)
    until(lambda: awaited.count() == {"nobody": 1}, what="its session waits for the agent")
    job.cancel()
    assert result_of(job, timeout_s=DEADLINE_S).state is RunState.CANCELLED


def test_batch_started_twice_is_one(shared: ReviewInstallation):
    batch_id = new_id()
    for _ in range(2):
        job = shared.review(panel("finds"), texts(2), batch_id=batch_id)
    assert len(result_of(job, timeout_s=DEADLINE_S).results) == len(shared.calls()) == 2


def test_text_of_an_item_is_kept_by_its_session_alone(shared: ReviewInstallation):
    job = shared.review(panel("finds"), texts(2))
    run = result_of(job, timeout_s=DEADLINE_S)
    keys = [
        key
        for key in shared.client._installation.reviews.store._client.scan_iter("symposia:{review:*")
        if "text" in key and job.id in key
    ]
    assert keys == []
    session = shared.client.get_job(run.results[0].session_id)
    assert "text 1\n" in session.dialog().messages[0].content
    assert session.usage()["finds"] == Usage()


def test_unknown_batch_has_no_state(installation: ReviewInstallation):
    job = installation.client.get_review(new_id())
    for ask in (job.progress, job.run, job.cancel, job.retry):
        with pytest.raises(ReviewNotFound):
            ask()
