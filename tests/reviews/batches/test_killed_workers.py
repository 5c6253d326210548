"""A worker is killed in the middle of a batch: no item is lost, none is reported twice."""

from __future__ import annotations

from collections import Counter

import pytest

from live import result_of, until
from review_tools.fixture import ReviewInstallation, panel, read
from symposia.reviews.batches.item_sessions import item_session_id
from symposia.reviews.panels import find_panel
from symposia.reviews.values.runs import ReviewRun, RunState

CODE = "import os\n\n\ndef number_{0}():\n    return {0}\n"


def check(installation: ReviewInstallation, run: ReviewRun, count: int) -> None:
    """Each item has one result, of its first session; the run was reported once."""
    assert (run.state, len(run.results)) == (RunState.COMPLETED, count)
    assert {it.state.value for it in run.results} == {"done"}
    paths = Counter(it.item.path for it in run.results)
    assert (len(paths), set(paths.values())) == (count, {1})
    sessions = [it.session_id for it in run.results]
    assert sessions == [item_session_id(run.id, number, 1) for number in range(1, count + 1)]

    def reported() -> int:
        return sum(worker.log().count(f"review {run.id} completed") for worker in installation.workers)

    until(reported, what="a worker says that it is reported")
    assert reported() == 1


@pytest.mark.long
@pytest.mark.timeout(150)
def test_batch_survives_one_of_two_workers_killed(installation: ReviewInstallation):
    installation.lease_s = 2.0
    first, _ = installation.start_worker(), installation.start_worker()
    names = ["held.txt", *(f"f{number}.txt" for number in range(59))]
    job = installation.review(panel("holds"), [read(name, f"text of {name}") for name in names])
    until(lambda: job.progress().done >= 10, timeout_s=40, what="ten are done")
    first.kill()
    (installation.folder / "gate").touch()
    check(installation, result_of(job, timeout_s=50), 60)
    assert set(installation.calls()) == set(names)


@pytest.mark.long
@pytest.mark.timeout(150)
def test_new_worker_finishes_the_batch_of_a_killed_one(installation: ReviewInstallation):
    installation.lease_s = 2.0
    installation.start_worker()
    job = installation.review(
        panel("gated", parallel=2), [read(f"f{number}.txt", "text") for number in range(4)]
    )
    until(lambda: len(set(installation.calls())) == 2, timeout_s=40, what="two are at work")
    installation.workers[0].kill()
    (installation.folder / "gate").touch()
    installation.start_worker()
    check(installation, result_of(job, timeout_s=50), 4)


@pytest.mark.soak
@pytest.mark.timeout(1_800)
def test_batch_of_500_files_survives_a_killed_worker(installation: ReviewInstallation):
    installation.start_worker(concurrency=4)
    installation.start_worker(concurrency=4)
    count = 500
    reads = [read(f"f{number}.py", CODE.format(number)) for number in range(count)]
    job = installation.review(find_panel("code").with_model(None), reads)
    until(lambda: job.progress().done >= 100, timeout_s=900, what="a hundred are done")
    installation.workers[0].kill()
    run = result_of(job, timeout_s=1_500)
    check(installation, run, count)
    assert Counter((it.path, it.start_line) for it in run.findings if it.rule == "F401") == Counter(
        (it.item.path, 1) for it in reads
    )
