"""The delivery queue: reports are queued once, retried until delivered or given up, and survive their worker."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
from celery import Celery
from redis import Redis

from live import until
from review_tools.values import a_finding, a_run
from servers.remote_system import SECRET, RemoteSystem
from symposia.agents.registry import source
from symposia.client.building.app import build_deliverer
from symposia.config.settings import load_settings
from symposia.models.errors import ReviewNotFound
from symposia.models.protocol.collab import CollabMode
from symposia.models.text.ids import new_id
from symposia.reviews.delivery import deliverer
from symposia.reviews.delivery.deliverer import (
    FIRST_DELAY_MS,
    HOLD_MS,
    MAX_DELAY_MS,
    Deliverer,
    sweep_deliveries,
)
from symposia.reviews.delivery.deliveries_file import DeliveriesFile
from symposia.reviews.delivery.destinations import Destinations
from symposia.reviews.state import queues
from symposia.reviews.state.decisions import DecisionStore
from symposia.reviews.state.queues import DeliveryQueue
from symposia.reviews.state.records import BatchHead
from symposia.reviews.values.findings import FindingStatus
from symposia.reviews.values.panels import Panel, Seat
from symposia.reviews.values.runs import DeliveryJob, PullRequest, ReviewRun, RunState
from symposia.state.redis.connect import connect
from symposia.state.redis.keys import DELIVERIES

NEWS = (a_finding(status=FindingStatus.NEW),)


class Deliveries:
    """A deliverer with a webhook and a folder as destinations."""

    def __init__(self, client: Redis, folder: Path, system: RemoteSystem) -> None:
        self.client = client
        self.index = DeliveryQueue(client)
        self.runs: dict[str, ReviewRun] = {}
        self.system = system
        entries = {
            "shelf": {"kind": "folder", "folder": str(folder / "shelf")},
            "board": {
                "kind": "webhook",
                "url": system.url,
                "secret_env": "BOARD",
                "networks": ["127.0.0.0/8"],
                "attempts": 3,
            },
        }
        self.folder = folder
        self.destinations = Destinations(DeliveriesFile.model_validate(entries), getenv={"BOARD": SECRET}.get)
        self.deliverer = Deliverer(
            lambda: self.destinations, self.index, DecisionStore(self.client), read_run=self.read
        )

    def read(self, run_id: str) -> ReviewRun:
        if run_id not in self.runs:
            raise ReviewNotFound(run_id)
        return self.runs[run_id]

    def queue(self, run: ReviewRun | None = None, **options: object) -> ReviewRun:
        """Queue the deliveries of an ended run."""
        run = run or a_run(findings=NEWS)
        self.runs[run.id] = run
        panel = Panel(name="p", mode=CollabMode.PAIR, purpose="x", seats=(Seat(name="a", agent="noop"),))
        head = BatchHead(batch_id=run.id, root_name="shop", panel=panel, panel_sha="1", then=options)
        self.deliverer.queue_deliveries(run, head)
        return run

    def jobs(self) -> list[DeliveryJob]:
        return [DeliveryJob.model_validate_json(it) for it in self.client.zrange(DELIVERIES, 0, -1)]

    def wait_ms(self) -> float:
        """Return the milliseconds until the next attempt of the only job."""
        ((_, due_ms),) = self.client.zrange(DELIVERIES, 0, -1, withscores=True)
        seconds, micros = self.client.time()
        return due_ms - seconds * 1000 - micros / 1000

    def sweep(self) -> int:
        return sweep_deliveries(self.index, self.deliverer.deliver)

    def make_due(self) -> None:
        """Make all jobs due."""
        for text in self.client.zrange(DELIVERIES, 0, -1):
            self.client.zadd(DELIVERIES, {text: 0})

    def written(self) -> list[str]:
        return sorted(it.name for it in (self.folder / "shelf").glob("*/*/*"))


@pytest.fixture
def deliveries(redis_url: str, tmp_path: Path) -> Iterator[Deliveries]:
    system = RemoteSystem()
    with connect(redis_url) as client:
        yield Deliveries(client, tmp_path, system)
    system.close()


def test_report_is_delivered_to_every_destination(deliveries):
    run = deliveries.queue(deliver=["shelf", "board", "shelf"], formats=["markdown", "sarif"])
    assert deliveries.index.waiting() == 2
    assert deliveries.sweep() == 2
    assert deliveries.written() == ["review.md", "review.sarif", "run.json", "summary.txt"]
    assert [it["run_id"] for it in deliveries.system.letters] == [run.id]
    assert deliveries.index.waiting() == deliveries.sweep() == 0


def test_repeated_notes_and_messages_change_nothing(deliveries):
    run = deliveries.queue(deliver=["board"])
    deliveries.queue(run, deliver=["board"])
    (job,) = deliveries.jobs()
    for _ in range(3):
        deliveries.deliverer.deliver(job)
    assert len(deliveries.system.deliveries) == 1


def test_unqueued_report_is_not_delivered(deliveries):
    run = deliveries.queue()
    deliveries.deliverer.deliver(DeliveryJob(run=run.id, to="board", formats=()))
    assert deliveries.system.deliveries == []


@pytest.mark.parametrize(
    ("findings", "state", "delivered"),
    [
        (NEWS, RunState.COMPLETED, 1),
        ((a_finding(status=FindingStatus.STILL),), RunState.COMPLETED, 0),
        ((), RunState.FAILED, 1),
    ],
)
def test_destination_may_take_changes_only(deliveries, findings, state, delivered):
    deliveries.queue(a_run(findings=findings, state=state), deliver=["board"], only_on_change=True)
    assert deliveries.sweep() == delivered


def test_failed_delivery_is_retried_under_its_id(deliveries):
    deliveries.queue(deliver=["board"])
    deliveries.system.answers = [(503, {}), (503, {})]
    for failed in (1, 2):
        assert deliveries.sweep() == 1
        (job,) = deliveries.jobs()
        assert job.failed == failed
        delay_ms = FIRST_DELAY_MS * failed
        assert delay_ms - 9_000 < deliveries.wait_ms() <= delay_ms
        assert deliveries.sweep() == 0
        deliveries.make_due()
    assert deliveries.sweep() == 1
    assert deliveries.index.waiting() == 0
    assert len({headers["webhook-id"] for headers, _ in deliveries.system.deliveries}) == 1
    assert deliveries.index.failures(count=9) == []


def test_retry_after_is_respected_within_bounds(deliveries):
    deliveries.queue(deliver=["board"])
    deliveries.system.answers = [(503, {"Retry-After": "600"}), (503, {"Retry-After": "9999999"})]
    deliveries.sweep()
    assert 590_000 < deliveries.wait_ms() <= 600_000
    deliveries.make_due()
    deliveries.sweep()
    assert MAX_DELAY_MS - 10_000 < deliveries.wait_ms() <= MAX_DELAY_MS


def test_delivery_is_given_up_after_all_attempts(deliveries, caplog):
    run = deliveries.queue(deliver=["board"])
    deliveries.system.answers = [(503, {})] * 3
    for _ in range(3):
        deliveries.sweep()
        deliveries.make_due()
    assert deliveries.index.waiting() == 0
    (told,) = deliveries.index.failures(count=9)
    assert told.endswith(f"board, review {run.id}: 127.0.0.1 answered HTTP 503")
    assert [it.levelno for it in caplog.records if "giving up" in it.message] == [logging.ERROR]


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"deliver": ["nowhere"]}, "deliver: must be a delivery of the deliveries file: "),
        ({"deliver": ["board"], "formats": ["pdf"]}, "formats: must be one of markdown, html"),
    ],
)
def test_impossible_delivery_is_given_up_at_once(deliveries, options, why):
    deliveries.queue(**options)
    deliveries.sweep()
    assert deliveries.index.waiting() == 0
    assert why in deliveries.index.failures(count=1)[0]


def test_lost_run_and_permanent_refusal_are_given_up(deliveries):
    deliveries.runs.pop(deliveries.queue(deliver=["board"]).id)
    deliveries.system.answers = [(410, {})]
    deliveries.queue(deliver=["board"])
    deliveries.sweep()
    assert deliveries.index.waiting() == 0
    assert len(deliveries.index.failures(count=9)) == 2


def test_invalid_queue_entries_are_dropped(deliveries, caplog):
    deliveries.queue(deliver="board")
    deliveries.queue(deliver=["../etc"])
    assert deliveries.index.waiting() == 0
    assert caplog.text.count("not delivering the report") == 2


def test_delivery_waits_until_its_run_has_ended(deliveries):
    run = deliveries.queue(deliver=["board"])
    deliveries.runs[run.id] = run.model_copy(update={"state": RunState.RUNNING})
    deliveries.sweep()
    assert deliveries.system.deliveries == []
    assert deliveries.wait_ms() <= 1_000
    assert deliveries.jobs()[0].failed == 0
    deliveries.runs[run.id] = run
    deliveries.make_due()
    deliveries.sweep()
    assert len(deliveries.system.deliveries) == 1


def test_delivery_is_claimed_by_one_worker(deliveries):
    deliveries.queue(deliver=["board"])
    assert sweep_deliveries(deliveries.index, lambda _: None) == 1  # and its worker dies
    assert deliveries.sweep() == 0
    assert HOLD_MS - 10_000 < deliveries.wait_ms() <= HOLD_MS + 1
    deliveries.make_due()
    assert deliveries.sweep() == 1
    assert len(deliveries.system.deliveries) == 1


def test_delivery_queue_is_limited_and_sent_in_batches(deliveries, monkeypatch):
    monkeypatch.setattr(deliverer, "_SWEEP_LIMIT", 2)
    monkeypatch.setattr(queues, "MOST", 5)
    deliveries.index.add_deliveries([DeliveryJob(run=new_id(), to="board", formats=()) for _ in range(9)])
    assert deliveries.index.waiting() == 5
    assert sweep_deliveries(deliveries.index, lambda _: None) == 5


def test_pull_request_of_a_run_is_part_of_its_deliveries(deliveries):
    run = deliveries.queue(deliver=["board"], pull_request={"number": 5})
    (job,) = deliveries.jobs()
    assert job.pull_request == PullRequest(number=5)
    assert deliveries.index.waiting_of(run.id) == ["board"]
    deliveries.system.answers = [(410, {})]
    deliveries.sweep()
    assert deliveries.index.waiting_of(run.id) == []
    assert len(deliveries.index.failures_of(run.id)) == 1
    assert deliveries.index.failures_of(new_id()) == []


def test_corrected_report_of_a_retried_run_arrives(deliveries):
    run = deliveries.queue(deliver=["shelf", "board"])
    deliveries.sweep()
    deliveries.queue(
        run.model_copy(update={"retries": 1, "summary": "corrected"}), deliver=["shelf", "board"]
    )
    deliveries.sweep()
    assert deliveries.index.waiting() == 0
    texts = [it.read_text() for it in sorted((deliveries.folder / "shelf").glob("*/*/summary.txt"))]
    assert ["corrected" in it for it in texts] == [False, True]
    first, second = (headers["webhook-id"] for headers, _ in deliveries.system.deliveries)
    assert first != second


def test_unexpected_error_counts_as_a_failed_attempt(deliveries, monkeypatch):
    def fail(*_args: object, **_more: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(deliveries.destinations, "deliver", fail)
    run = deliveries.queue(deliver=["board"])
    for attempt in (1, 2):
        deliveries.sweep()
        assert [it.failed for it in deliveries.jobs()] == [attempt]
        deliveries.make_due()
    deliveries.sweep()
    assert deliveries.jobs() == []
    assert "unexpected ZeroDivisionError" in deliveries.index.failures_of(run.id)[0]


def test_malformed_queue_entry_stops_no_other_delivery(deliveries, caplog):
    deliveries.client.zadd(DELIVERIES, {"{": 0, '{"run":"x"}': 1})
    run = deliveries.queue(deliver=["board"])
    deliveries.sweep()
    assert (len(deliveries.system.deliveries), deliveries.index.waiting()) == (1, 0)
    assert deliveries.index.failures_of(run.id) == []
    assert caplog.text.count("dropping malformed delivery") == 2


def test_delivery_job_holds_names_only():
    job = DeliveryJob(run="0b5d7f0e-6c1c-4c58-9d4b-0a4f1f4f8c11", to="board", formats=("sarif",))
    assert job.model_dump_json() == (
        '{"run":"0b5d7f0e-6c1c-4c58-9d4b-0a4f1f4f8c11","to":"board","formats":["sarif"],"failed":0}'
    )


def test_changed_deliveries_file_is_followed(
    redis_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(source, "CHECK_EVERY_S", 0)  # each call checks the file
    caplog.set_level(logging.INFO, source.__name__)
    file = tmp_path / "deliveries.toml"
    entry = f'kind = "folder"\nfolder = "{tmp_path}"\n'
    file.write_text(f"[team]\n{entry}")
    settings = load_settings(redis_url=redis_url, deliveries_file=file, data_dir=tmp_path)
    deliveries = build_deliverer(Celery(set_as_current=False), settings, redis_url=redis_url)._deliveries
    assert deliveries().names() == ["team"]
    file.write_text(f"[board]\n{entry}")
    until(lambda: deliveries().names() == ["board"], what="the new file counts")
    file.write_text("[board]\nkind = 1\n")
    until(lambda: deliveries() and "refused" in caplog.text, what="the wrong file is reported")
    assert deliveries().names() == ["board"]
    assert "deliveries file read again: added board, removed team" in caplog.text
