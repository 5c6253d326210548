"""docs/celery.md: the app, queues of agents, a chain with a session, and what `on_end` takes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from celery import Celery, _state

import symposia
from documents.files import write_files
from documents.pages import Page
from symposia.agents.registry.registry import Registry
from symposia.client.building.installed import is_installed
from symposia.client.in_process.eager import close_eager_installation

PAGE = Page("docs/celery.md")
APP = PAGE.take("python", "symposia.install(app)")
QUEUE = PAGE.take("toml", "[agents.painter]")
CHAIN = PAGE.take("python", "work = chain(")
SIGNATURE = PAGE.take("python", "on_end=report.s()")
URL = PAGE.take("python", 'on_end="https')
PANEL = """
title: A panel
purpose: Talk about {topic}.
mode: round_robin
inputs: [{name: topic}]
participants: [{participant_id: ann, agent: local}]
"""
AGENTS = '[agents.local]\nkind = "scripted"\nreplies = ["Lamp?"]\n'


@pytest.fixture
def names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, object]]:
    """What the programs of the page take for granted, in an app that runs all at once."""
    monkeypatch.chdir(tmp_path)
    Path("panel.yaml").write_text(PANEL)
    Path("agents.toml").write_text(AGENTS)
    app = Celery("shop", broker="memory://", backend="cache+memory://", set_as_current=False)
    app.conf.task_always_eager = True
    monkeypatch.setattr(_state._tls, "current_app", app)  # that of `symposia.session`

    @app.task(shared=False)
    def prepare(topic: str) -> str:
        return topic

    @app.task(shared=False)
    def report(result: dict[str, object]) -> object:
        return result["text"]

    monkeypatch.setattr(symposia, "submit", lambda _collab, *, on_end, **_: on_end)
    yield {"prepare": prepare, "report": report, "collab": None, "agents": {}, "symposia": symposia}
    close_eager_installation(app)


def test_chain_runs_a_session(names: dict[str, object]) -> None:
    exec(CHAIN, names)  # noqa: S102 - the program of the page
    assert names["result"] == "Lamp?"


@pytest.mark.parametrize("program", [SIGNATURE, URL])
def test_on_end_is_accepted(names: dict[str, object], program: str) -> None:
    from symposia.models.sessions.on_end import read_on_end

    exec(program, names)  # noqa: S102 - the program of the page
    on_end = read_on_end(names["job"])
    assert on_end.signature or on_end.url


def test_symposia_is_installed_on_the_app() -> None:
    names: dict[str, object] = {}
    exec(APP, names)  # noqa: S102 - the program of the page
    assert is_installed(names["app"])


def test_agent_has_the_queue(tmp_path: Path) -> None:
    write_files(tmp_path, {"agents.toml": QUEUE})
    assert Registry.load(tmp_path / "agents.toml").queues() == {"painter": "gpu"}
