"""The next check of sessions whose messages wait, and the probes for them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from redis import Redis

from servers.ports import own_port
from sessions.inline_installation import InlineInstallation
from symposia.client.webhooks.events import WebhookEvents
from symposia.client.webhooks.webhooks_file import follow_webhooks
from symposia.config.settings import load_settings
from symposia.models.errors import RedisUnavailable
from symposia.models.sessions.stop_conditions import MaxTurns
from symposia.state.redis.connect import connect
from symposia.state.redis.keys import DUE
from symposia.state.sessions.records import SessionState
from symposia.state.sessions.store import SessionStore
from symposia.state.webhooks import WebhookStore
from symposia.tasks.sessions import sweep as sweeping
from symposia.tasks.sessions.sweep import BATCH, PAUSE_MS, sweep
from symposia.tasks.views.session_views import SessionFacts

AGENTS = '[agents.echo]\nkind = "scripted"\nreplies = ["so be it"]\n'
GRACE = 60_000


@pytest.fixture
def installation(tmp_path: Path, redis_url: str):
    installation = InlineInstallation(tmp_path, redis_url, AGENTS, redispatch_after_s=GRACE // 1_000)
    yield installation
    installation.close()


def waiting(installation: InlineInstallation, count: int) -> None:
    """Sessions whose first message was sent some graces ago."""
    client = installation.runtime.store.client
    for _ in range(count):
        job = installation.submit("round_robin", {"ann": "echo"}, stop=MaxTurns(1))
        before_ms = installation.runtime.index.now_ms() - 5 * GRACE
        client.hset(f"symposia:{{{job.id}}}:session", "updated_ms", before_ms)
        client.zadd(DUE, {job.id: 0})
    installation.queue.waiting.clear()


def look_now(installation: InlineInstallation) -> None:
    """Makes all sessions due."""
    client = installation.runtime.store.client
    client.zadd(DUE, dict.fromkeys(client.zrange(DUE, 0, -1), 0))


def looks_in_ms(installation: InlineInstallation) -> list[float]:
    """For each session, milliseconds until the next look at it, in order."""
    now_ms = installation.runtime.index.now_ms()
    return [
        at_ms - now_ms for _, at_ms in installation.runtime.store.client.zrange(DUE, 0, -1, withscores=True)
    ]


def busy() -> bool:
    return False


def test_unavailable_webhook_keys_do_not_stop_the_sweep(
    installation: InlineInstallation, tmp_path: Path, redis_url: str
) -> None:
    file = tmp_path / "webhooks.toml"
    events = '["session.ended", "question.asked"]'
    file.write_text(f'[webhooks.ops]\nurl = "https://x.example"\nevents = {events}\nsecret_env = "X"\n')
    config, runtime = follow_webhooks(load_settings(webhooks_file=file)), installation.runtime

    def send_events_to(client: Redis) -> WebhookStore:
        store = WebhookStore(client)
        ports = replace(runtime.ports, events=WebhookEvents(config, store))
        installation.runtime = replace(runtime, ports=ports)
        return store

    with connect(f"redis://127.0.0.1:{own_port()}", retries=0) as down, connect(redis_url) as up:
        send_events_to(down)
        ended = installation.submit("round_robin", {"ann": "echo"}, stop=MaxTurns(1))
        asked = installation.submit("round_robin", {"ann": "human"})
        installation.work()
        assert (ended.state().is_final, len(asked.pending())) == (True, 1)
        look_now(installation)
        installation.sweep()
        assert set(up.zrange(DUE, 0, -1)) == {ended.id, asked.id}
        assert all(0 < at_ms <= GRACE for at_ms in looks_in_ms(installation))
        store = send_events_to(up)
        look_now(installation)
        installation.sweep()
        assert {it.subject: it.event for it in store.deliveries()} == {
            ended.id: "session.ended",
            asked.id: "question.asked",
        }
        assert set(up.zrange(DUE, 0, -1)) == {asked.id}
        asked.cancel()


def test_busy_worker_sends_a_probe_for_a_free_one(installation: InlineInstallation) -> None:
    """The session is claimed by any worker, and by the free one of many only now and then."""
    waiting(installation, 1)
    installation.runtime.stores.queue_progress.publish(is_free=True)
    assert sweep(installation.runtime, is_free=busy) == 1


def test_no_probe_is_sent_while_all_are_busy(installation: InlineInstallation) -> None:
    waiting(installation, 1)
    assert sweep(installation.runtime, is_free=busy) == 0
    (in_ms,) = looks_in_ms(installation)
    assert GRACE - 10_000 < in_ms <= GRACE
    look_now(installation)
    assert sweep(installation.runtime) == 1


def test_sessions_are_checked_soon_after_a_probe(installation: InlineInstallation) -> None:
    waiting(installation, 3)
    assert sweep(installation.runtime) == 1
    soon, later, probed = looks_in_ms(installation)
    assert soon <= later <= GRACE // 10 < probed <= GRACE
    installation.deliver()  # the probe: whatever was sent before it is lost
    look_now(installation)
    assert sweep(installation.runtime) == 2


def test_sessions_are_checked_rarely_if_many_wait(
    installation: InlineInstallation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(installation.runtime.index, "unfinished", lambda: 100_000)
    waiting(installation, 2)
    sweep(installation.runtime, is_free=busy)
    assert min(looks_in_ms(installation)) > 100_000 * PAUSE_MS - 10_000


def test_long_sweep_checks_the_queue_again(
    installation: InlineInstallation, monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting(installation, 3)
    installation.runtime.stores.queue_progress.publish()
    claim = installation.runtime.index.claim

    def claim_and_take(*, limit: int, hold_ms: int) -> list[str]:
        """Workers take messages that were sent later, right after the sweep has read the queue."""
        installation.runtime.stores.queue_progress.record_taken(installation.runtime.index.now_ms())
        return claim(limit=limit, hold_ms=hold_ms)

    monkeypatch.setattr(installation.runtime.index, "claim", claim_and_take)
    monkeypatch.setattr(sweeping, "VIEW_S", 0)
    assert sweep(installation.runtime, is_free=busy) == 3


def test_long_sweep_leaves_the_rest_to_the_next(
    installation: InlineInstallation, monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting(installation, BATCH + 1)
    monkeypatch.setattr(sweeping, "MAX_SWEEP_S", 0)
    sweep(installation.runtime, is_free=busy)
    assert sum(in_ms <= 0 for in_ms in looks_in_ms(installation)) == 1
    sweep(installation.runtime, is_free=busy)
    assert min(looks_in_ms(installation)) > 0


class Recorder:
    """Tracing that records the ends of sessions."""

    def __init__(self) -> None:
        self.ended: list[str] = []

    def end_session(self, facts: SessionFacts, state: SessionState) -> None:
        self.ended.append(f"{facts.session_id} {state.reason}")


class Failing(SessionStore):
    """A store of a Redis that is lost after the sweep of a session, once."""

    fails_at = 2

    def state(self, session_id: str) -> SessionState:
        self.fails_at -= 1
        if self.fails_at == 0:
            raise RedisUnavailable("redis://127.0.0.1")
        return super().state(session_id)


def test_unread_end_is_traced_by_the_next_sweep(installation):
    job = installation.submit("round_robin", {"ann": "echo"}, stop=MaxTurns(1))
    job.cancel()
    tracing, client = Recorder(), installation.runtime.store.client
    runtime = replace(
        installation.runtime,
        ports=replace(installation.runtime.ports, tracing=tracing),
        stores=replace(installation.runtime.stores, store=Failing(client)),
    )
    with pytest.raises(RedisUnavailable):
        sweep(runtime)
    assert tracing.ended == []
    look_now(installation)
    sweep(runtime)
    assert tracing.ended == [f"{job.id} cancelled"]
    assert client.zcard(DUE) == 0
    sweep(runtime)
    assert len(tracing.ended) == 1
