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


def records(installation, job):
    texts = RecordingStore(installation.runtime.store.client).read_all(job.id).values()
    return sorted((RecordedTurn.model_validate_json(it) for it in texts), key=lambda it: it.number)


def run(installation, model, agents=PAIR, **how):
    model.answers(completion("One."), completion("Two."))
    job = installation.submit("round_robin", agents, **{"stop": MaxTurns(2), **how})
    installation.work()
    return job


def test_session_without_the_option_sends_the_same_commands(make_installation, model):
    def commands(**settings):
        installation = make_installation(**settings)
        client = installation.runtime.store.client
        job = installation.submit("round_robin", {"ann": "noop", "bob": "noop"}, stop=MaxTurns(2))
        client.config_resetstat()
        installation.work()
        found = {name: it["calls"] for name, it in client.info("commandstats").items()}
        return found, client.exists(recorded_key(job.id))

    bare, has_none = commands(record_calls=False)
    full, has_one = commands(record_calls=True)
    assert (has_none, has_one) == (0, 1)
    assert "cmdstat_pexpire" in full
    assert "cmdstat_pexpire" not in bare


def test_submission_decides_over_the_setting(installation, model):
    assert records(installation, run(installation, model, record=False)) == []
    assert len(records(installation, run(installation, model))) == 2


def test_same_submission_under_another_setting_is_the_same_session(installation, make_installation, model):
    collab = {
        "title": "A session",
        "purpose": "see that it works",
        "mode": "pair",
        "participants": [{"participant_id": "ann"}, {"participant_id": "bob"}],
        "collab_id": new_id(),
    }
    agents = {"ann": "noop", "bob": "noop"}
    assert installation.client.submit(collab, agents=agents).spec.record
    other = make_installation(record_calls=False)
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


def test_record_has_prompt_settings_and_answer(installation, model):
    first, second = records(installation, run(installation, model))
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


def test_long_prompt_is_stored_by_its_beginning(installation, model):
    job = run(installation, model, messages=["x" * (2 * MAX_TEXT)])
    texts = [it.text for record in records(installation, job) for it in record.asks[0].requests[0].texts]
    assert max(map(len, texts)) == MAX_TEXT


def test_large_record_is_cut_and_its_turn_is_taken(installation, model, monkeypatch):
    monkeypatch.setattr(ending, "MAX_TURN_BYTES", 900)
    job = run(installation, model)
    assert [it.is_cut for it in records(installation, job)] == [True, True]
    assert installation.client.replay(job.id).taken == (1, 2)


def test_archived_records_leave_redis_and_are_replayed(make_installation, model, tmp_path):
    installation = make_installation(archive=True)
    job = run(installation, model)
    asked = len(model.asked)
    installation.runtime.ports.archiver.archive_due()
    assert records(installation, job) == []
    assert installation.client.replay(job.id).requests == 2
    installation.runtime.store.client.delete(
        *installation.runtime.store.client.keys(f"symposia:{{{job.id}}}:*")
    )
    assert installation.client.get_job(job.id).is_live is False
    assert installation.client.replay(job.id).requests == 2
    assert len(model.asked) == asked


def test_pruned_session_leaves_no_record(make_installation, model):
    installation = make_installation(archive=True)
    job = run(installation, model)
    installation.runtime.ports.archiver.archive_due()
    archive: Archive = installation.runtime.ports.archiver.target
    assert len(archive.reader.records(job.id)) == 2
    archive.pruner.delete([it.row for it in archive.pruner.find()])
    with archive.database.reading() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM recorded_turn").scalar() == 0


def test_next_attempt_records_the_calls_of_the_first(installation, model):
    """It finds their answers in the call journal."""
    refused = [refusal(500, "no", retry_after_ms="1")] * 3
    model.answers(completion(tool=("add", {"a": 1, "b": 2})), *refused, completion("Three."))
    job = installation.submit("round_robin", PAIR, stop=MaxTurns(1), policy={"attempts": 2, "backoff_s": 0})
    installation.work()
    installation.sweep_until(job, lambda: job.state().is_final)
    (record,) = records(installation, job)
    assert [it.answer is not None for it in record.asks[0].requests] == [True, True]
    assert [it.answer for it in record.asks[0].tool_calls] == [3]
    assert installation.client.replay(job.id).requests == 2


class Lost(BaseException):
    """The worker is no more."""


@pytest.mark.long
def test_record_of_a_lost_worker_does_not_count(make_installation, model):
    installation = make_installation(lease_s=3)  # one that no busy machine lets run out
    boundaries = iter([Boundary.BEFORE_COMMIT])

    def die_once(boundary, *_where):
        if boundary is Boundary.BEFORE_COMMIT and next(boundaries, None):
            raise Lost

    installation.runtime = dataclasses.replace(installation.runtime, fault_hook=die_once)
    with pytest.raises(Lost):
        run(installation, model, stop=MaxTurns(1))
    (job,) = installation.client.jobs()
    installation.sweep_until(job, lambda: job.state().is_final)
    assert [it.number for it in records(installation, job)] == [1, 1]
    assert len(model.asked) == 1
    assert installation.client.replay(job.id).run_again == (1,)


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
