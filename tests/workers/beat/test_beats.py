"""Beats and workers: each due run starts once, despite crashes."""

from __future__ import annotations

import json

import pytest

from live import until
from scaling import patient
from servers.redis_nodes import own_cluster, own_sentinels
from symposia.models.errors import RedisUnavailable
from symposia.schedules.schedule import RunOutcome
from symposia.state.presence import BeatPresence
from symposia.state.redis.connect import connect
from symposia.state.redis.keys import schedule_keys


def wait_for(schedules, name, *, count):
    """Until so many occurrences of a schedule have ended."""
    most = 60 + 4 * count
    return until(
        lambda: len(found := schedules.history(name, count=1_000)) >= count and found,
        timeout_s=most,
        what=f"{count} occurrences of {name}",
    )


def check_every_time_once(installation, *, count):
    """Two beats; one of them is killed and comes back."""
    schedules = installation.client.schedules
    installation.start_worker()
    first, _second = installation.start_beat(), installation.start_beat()
    schedules.add("often", every=2, job="say", overlap="queue")
    wait_for(schedules, "often", count=count // 4)
    first.kill()
    wait_for(schedules, "often", count=count // 2)
    installation.start_beat()
    wait_for(schedules, "often", count=count)
    schedules.pause("often")
    until(lambda: schedules.get("often").running is None, what="all have ended")

    records = schedules.history("often", count=1_000)[::-1]
    due = [it.due_ms for it in records]
    assert due == list(range(due[0], due[0] + 2_000 * len(due), 2_000)), "each time, once, in order"
    assert not [it for it in records if it.outcome is not RunOutcome.COMPLETED]
    sessions = installation.client.jobs(count=1_000)
    assert sorted(job.id for job in sessions) == sorted(it.id for it in records)
    assert len(installation.calls()) == 2 * len(records), "nobody spoke twice"


@pytest.mark.long
@pytest.mark.timeout(120)
def test_two_beats_start_each_run_once(installation):
    check_every_time_once(installation, count=8)


@pytest.mark.soak
@pytest.mark.timeout(600)
def test_sixty_runs_in_two_minutes_every_two_seconds(installation):
    check_every_time_once(installation, count=60)


@pytest.mark.long
@pytest.mark.timeout(120)
def test_sweep_starts_due_runs_without_a_beat(installation):
    schedules = installation.client.schedules
    installation.start_worker()
    schedules.add("alone", every=2, job="say", overlap="queue")
    records = wait_for(schedules, "alone", count=2)
    assert {it.outcome for it in records} == {RunOutcome.COMPLETED}
    schedules.remove("alone")


@pytest.mark.long
@pytest.mark.timeout(120)
def test_beat_announces_its_start_and_stop(installation):
    with connect(installation.redis_url) as client:
        book, beat = BeatPresence(client), installation.start_beat()
        until(book.list_alive, what="it is heard of")
        beat.process.terminate()
        assert beat.process.wait(patient(20)) == 0
        assert book.list_alive() == []


@pytest.mark.long
@pytest.mark.timeout(120)
def test_schedules_of_a_file_replace_only_their_own(installation):
    schedules = installation.client.schedules
    schedules.add("mine", cron="@daily", job="say")
    file = installation.folder / "theirs.toml"
    file.write_text('[theirs]\nevery = "1h"\njob = "say"\n\n[old]\ncron = "@daily"\njob = "say"\n')
    beat = installation.start_beat(SYMPOSIA_SCHEDULES_FILE=str(file))
    until(lambda: len(schedules.entries()) == 3, what="both are there")
    assert schedules.get("theirs").from_settings
    beat.close()
    file.write_text('[theirs]\nevery = "2h"\njob = "say"\n')
    installation.start_beat(SYMPOSIA_SCHEDULES_FILE=str(file))
    until(lambda: len(schedules.entries()) == 2, what="the old one is gone")
    assert schedules.get("theirs").schedule.when.every == 7_200
    assert not schedules.get("mine").from_settings


def test_invalid_schedules_file_stops_the_beat(installation):
    file = installation.folder / "theirs.toml"
    file.write_text('[nightly]\ncron = "0 25 * * *"\njob = "say"\n')
    with pytest.raises(AssertionError, match=r"theirs\.toml\.nightly\.when\.cron: is not a valid hour"):
        installation.start_beat(SYMPOSIA_SCHEDULES_FILE=str(file))


@pytest.mark.long
@pytest.mark.timeout(120)
def test_a_beat_finds_schedules_in_a_cluster(installation, tmp_path):
    with own_cluster(tmp_path / "cluster") as cluster:
        installation.broker_url, installation.redis_url = installation.redis_url, cluster.url
        check_only_the_beat_sends_word(installation)
        installation.stack.close()


@pytest.mark.long
@pytest.mark.timeout(120)
def test_beat_finds_schedules_after_a_failover(installation, tmp_path):
    with own_sentinels(tmp_path / "nodes", password="hunter22") as watched:
        installation.redis_url = watched.url
        check_only_the_beat_sends_word(installation, meanwhile=watched.fail_over)
        installation.stack.close()


def check_only_the_beat_sends_word(installation, meanwhile=lambda: None):
    """The beat counts what it has sent word of in the schedule's `meta`."""
    schedules = installation.client.schedules
    beat = installation.start_beat()
    schedules.add("often", every=1, job="say", overlap="skip")

    def sent():
        try:
            meta = installation.client._installation.sessions.connections.redis.hget(
                schedule_keys("often")["entry"], "meta"
            )
            return json.loads(meta or "{}").get("total_run_count", 0)
        except RedisUnavailable:
            return 0

    until(lambda: sent() >= 2, what="the beat has sent word")
    meanwhile()
    before = until(sent, what="Redis answers again")
    until(lambda: sent() >= before + 2, what="the beat has sent word once more")
    assert "hunter22" not in beat.log()
