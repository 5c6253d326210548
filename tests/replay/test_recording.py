"""What is recorded: nothing without the option, one record per written turn, bounded, and archived."""

from __future__ import annotations

import dataclasses

import pytest

from servers.model_stub import completion, refusal
from symposia.archive.archive import Archive
from symposia.models.errors import InvalidInput
from symposia.models.sessions.recorded import MAX_TEXT, RecordedTurn, scrub_data
from symposia.models.sessions.stop_conditions import MaxTurns
from symposia.models.sessions.submission import Submission
from symposia.models.text.ids import new_id
from symposia.state.redis.keys import recorded_key
from symposia.state.sessions.archiving import RecordingStore
from symposia.tasks.runtime.runtime import Boundary
from symposia.tasks.turns import ending

pytestmark = pytest.mark.real_models

PAIR = {"ann": "texting", "bob": "texting"}


def records(office, job):
    texts = RecordingStore(office.runtime.store.client).read_all(job.id).values()
    return sorted((RecordedTurn.model_validate_json(it) for it in texts), key=lambda it: it.number)


def run(office, model, agents=PAIR, **how):
    model.answers(completion("One."), completion("Two."))
    job = office.submit("round_robin", agents, **{"stop": MaxTurns(2), **how})
    office.work()
    return job


def test_session_without_the_option_sends_the_same_commands(make_office, model):
    def commands(**settings):
        office = make_office(**settings)
        client = office.runtime.store.client
        job = office.submit("round_robin", {"ann": "noop", "bob": "noop"}, stop=MaxTurns(2))
        client.config_resetstat()
        office.work()
        found = {name: it["calls"] for name, it in client.info("commandstats").items()}
        return found, client.exists(recorded_key(job.id))

    bare, has_none = commands(record_calls=False)
    full, has_one = commands(record_calls=True)
    assert (has_none, has_one) == (0, 1)
    assert "cmdstat_pexpire" in full
    assert "cmdstat_pexpire" not in bare


def test_submission_decides_over_the_setting(office, model):
    assert records(office, run(office, model, record=False)) == []
    assert len(records(office, run(office, model))) == 2


def test_same_submission_under_another_setting_is_the_same_session(office, make_office, model):
    collab = {
        "title": "A session",
        "purpose": "see that it works",
        "mode": "pair",
        "participants": [{"participant_id": "ann"}, {"participant_id": "bob"}],
        "collab_id": new_id(),
    }
    agents = {"ann": "noop", "bob": "noop"}
    assert office.client.submit(collab, agents=agents).spec.record
    other = make_office(record_calls=False)
    job = other.client.submit(collab, agents=agents)
    assert job.spec.record
    job.cancel()


@pytest.mark.parametrize("value", [1, "yes", []])
def test_record_that_is_no_truth_value_is_refused(value):
    with pytest.raises(InvalidInput, match="record: must be true or false, or omitted"):
        Submission.build(
            {"title": "A", "purpose": "B", "mode": "pair", "participants": [{"participant_id": "ann"}]},
            record=value,
        )


def test_record_has_prompt_settings_and_answer(office, model):
    first, second = records(office, run(office, model))
    (ask,) = first.asks
    (request,) = ask.requests
    assert (request.model, request.answer["parts"][0]["content"]) == ("stub", "One.")
    assert {it.name for it in request.tools} == {"add", "picky"}
    assert any(it.label == "instructions" and "You are brief." in it.text for it in request.texts)
    assert (second.asks[0].seen.count, second.planned.participant, second.binding.agent) == (
        1,
        "bob",
        "texting",
    )


def test_long_prompt_is_stored_by_its_beginning(office, model):
    job = run(office, model, messages=["x" * (2 * MAX_TEXT)])
    texts = [it.text for record in records(office, job) for it in record.asks[0].requests[0].texts]
    assert max(map(len, texts)) == MAX_TEXT


def test_large_record_is_cut_and_its_turn_is_taken(office, model, monkeypatch):
    monkeypatch.setattr(ending, "MOST_TURN_BYTES", 900)
    job = run(office, model)
    assert [it.is_cut for it in records(office, job)] == [True, True]
    assert office.client.replay(job.id).taken == (1, 2)


def test_archived_records_leave_redis_and_are_replayed(make_office, model, tmp_path):
    office = make_office(archive=True)
    job = run(office, model)
    asked = len(model.asked)
    office.runtime.ports.archiver.archive_due()
    assert records(office, job) == []
    assert office.client.replay(job.id).requests == 2
    office.runtime.store.client.delete(*office.runtime.store.client.keys(f"symposia:{{{job.id}}}:*"))
    assert office.client.get_job(job.id).is_live is False
    assert office.client.replay(job.id).requests == 2
    assert len(model.asked) == asked


def test_pruned_session_leaves_no_record(make_office, model):
    office = make_office(archive=True)
    job = run(office, model)
    office.runtime.ports.archiver.archive_due()
    archive: Archive = office.runtime.ports.archiver.target
    assert len(archive.reader.records(job.id)) == 2
    archive.pruner.delete([it.row for it in archive.pruner.find()])
    with archive.database.reading() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM recorded_turn").scalar() == 0


def test_next_attempt_records_the_calls_of_the_first(office, model):
    """It finds their answers in the call journal."""
    refused = [refusal(500, "no", retry_after_ms="1")] * 3
    model.answers(completion(tool=("add", {"a": 1, "b": 2})), *refused, completion("Three."))
    job = office.submit("round_robin", PAIR, stop=MaxTurns(1), policy={"attempts": 2, "backoff_s": 0})
    office.work()
    office.sweep_until(job, lambda: job.state().is_final)
    (record,) = records(office, job)
    assert [it.answer is not None for it in record.asks[0].requests] == [True, True]
    assert [it.answer for it in record.asks[0].tool_calls] == [3]
    assert office.client.replay(job.id).requests == 2


class Lost(BaseException):
    """The worker is no more."""


@pytest.mark.long
def test_record_of_a_lost_worker_does_not_count(make_office, model):
    office = make_office(lease_s=3)  # one that no busy machine lets run out
    boundaries = iter([Boundary.BEFORE_COMMIT])

    def die_once(boundary, *_where):
        if boundary is Boundary.BEFORE_COMMIT and next(boundaries, None):
            raise Lost

    office.runtime = dataclasses.replace(office.runtime, fault_hook=die_once)
    with pytest.raises(Lost):
        run(office, model, stop=MaxTurns(1))
    (job,) = office.client.jobs()
    office.sweep_until(job, lambda: job.state().is_final)
    assert [it.number for it in records(office, job)] == [1, 1]
    assert len(model.asked) == 1
    assert office.client.replay(job.id).run_again == (1,)


@pytest.mark.parametrize(
    ("data", "scrubbed"),
    [
        ("Bearer abcdefgh", "Bearer ***"),
        ({"api_key": "abc", "name": "ann"}, {"api_key": "***", "name": "ann"}),
        ('{"api_key": "abc"}', '{"api_key":"***"}'),
        ('{"name": "ann"}', '{"name": "ann"}'),
        (["the secret word", 7, None], ["the *** word", 7, None]),
        ("redis://u:pass@host", "redis://u:***@host"),
    ],
)
def test_secrets_are_removed_from_data(data, scrubbed):
    assert scrub_data(data, ["secret"]) == scrubbed
