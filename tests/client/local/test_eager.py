"""With `task_always_eager`, `submit` runs the session in the process: there is no broker, no worker and no Redis."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest
from celery import Celery

from scaling import patient
from symposia import AsyncClient, Client, InvalidInput, MaxTurns, install
from symposia.client.in_process.eager import close_eager_installation, eager_installation
from symposia.config.settings import Settings, load_settings

AGENTS = """
[agents.shop]
kind = "scripted"
replies = ["Two doors"]

[agents.partner]
kind = "external"
url = "https://partner.example"
secret_env = "PARTNER_SECRET"
"""
TALK = {"title": "t", "purpose": "p", "mode": "round_robin"}
UNREACHABLE = "redis://127.0.0.1:1"


@pytest.fixture
def settings(tmp_path, monkeypatch) -> Settings:
    monkeypatch.setenv("PARTNER_SECRET", "x" * 40)
    (tmp_path / "agents.toml").write_text(AGENTS)
    return load_settings(
        redis_url=UNREACHABLE,
        broker_url=UNREACHABLE,
        agents_file=tmp_path / "agents.toml",
        data_dir=tmp_path / "data",
        archive=True,
    )


@pytest.fixture
def app(settings) -> Iterator[Celery]:
    app = Celery("shop", broker=UNREACHABLE, set_as_current=False)
    app.conf.task_always_eager = True
    install(app, settings)
    yield app
    close_eager_installation(app)
    app.close()


@pytest.fixture
def client(app, settings) -> Iterator[Client]:
    with Client(settings, app=app) as client:
        yield client


def submit(client, **agents):
    participants = [{"participant_id": name, "role_id": name} for name in agents]
    return client.submit({**TALK, "participants": participants}, agents=agents, stop=MaxTurns(2))


def test_session_has_ended_when_submit_returns(client, app, settings):
    job = submit(client, ann="shop")
    assert [message.content for message in job.messages()] == ["Two doors", "Two doors"]
    assert job.state().is_final
    with Client(settings, app=app) as other:
        assert other.get_job(job.id).result().reason == "max_turns"


def test_files_are_in_a_temporary_folder(client, app, settings):
    submit(client, ann="shop")
    folder = eager_installation(app, settings).settings.data_dir
    assert folder.is_dir()
    close_eager_installation(app)
    assert not folder.exists()
    assert not settings.data_dir.exists()


def test_submit_returns_when_a_person_is_asked(client):
    job = submit(client, ann="shop", ben="human")
    (question,) = job.pending()
    job.reply("ben", "One door", token=question.reply_token)
    assert job.result(timeout=patient(60)).reason == "max_turns"


def test_remote_agent_is_refused(client):
    with pytest.raises(InvalidInput, match="'partner' waits for a remote system: `task_always_eager`"):
        submit(client, ann="partner")


def test_many_sessions_and_async_client(client, app, settings):
    table = {
        "collab": {**TALK, "participants": [{"participant_id": "a", "role_id": "a"}]},
        "agents": {"a": "shop"},
    }
    table["stop"] = {"max_turns": 1}
    assert all(job.state().is_final for job in client.submit_many([table, table]))

    async def run():
        async with AsyncClient(settings, app=app) as client:
            job = await client.submit(table["collab"], agents=table["agents"], stop=MaxTurns(1))
            return (await job.result()).reason

    assert asyncio.run(run()) == "max_turns"


def test_eager_task_submits(client, app):
    @app.task
    def discuss():
        return submit(client, ann="shop").id

    assert client.get_job(discuss.delay().get()).state().is_final
