"""Settings and schedules files: those of docs/settings.md and docs/schedules.md are read, and their schedules run."""

from __future__ import annotations

from pathlib import Path

import pytest

from documents.pages import Page
from live import until
from processes.terminal import Terminal
from symposia.config.settings import load_settings

#: They start a worker, and a process for each program.
pytestmark = pytest.mark.timeout(180)

SETTINGS_PAGE = Page("docs/settings.md")
SCHEDULES_PAGE = Page("docs/schedules.md")
SETTINGS = SETTINGS_PAGE.take("toml", "redis_url")
SCHEDULES = SCHEDULES_PAGE.take("toml", "[nightly]")
URL = "redis://valkey.example.com:6379/0"
#: What the schedules take for granted: a root and a place where reports go.
MORE = """\
[review_roots]
shop = "shop"
"""
DELIVERIES = """\
[team]
kind = "folder"
folder = "{folder}"
"""
STANDUP = """\
title: Standup
purpose: Say what is next.
mode: round_robin
participants: [{participant_id: ann, agent: echo}]
stop: {max_turns: 1}
"""


def test_settings_file_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("symposia.toml").write_text(SETTINGS)
    settings = load_settings()
    assert settings.redis_url.get_secret_value() == URL
    assert settings.agents_file == tmp_path / "agents.toml"
    assert settings.worker_concurrency == 16
    assert settings.flower_hosts == ("symposia.example.com",)
    assert settings.jobs == {"standup": tmp_path / "standup.yaml"}


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("reports")


@pytest.fixture(scope="module")
def files(reports: Path) -> dict[str, str]:
    assert URL in SETTINGS
    settings = "".join(f"{it}\n" for it in SETTINGS.splitlines() if URL not in it)
    return {
        "symposia.toml": settings + MORE,
        "agents.toml": "",
        "schedules.toml": SCHEDULES,
        "deliveries.toml": DELIVERIES.format(folder=reports),
        "standup.yaml": STANDUP,
        "shop/app.py": "import os\n",
    }


@pytest.mark.long
def test_schedules_of_the_file_run(terminal: Terminal, reports: Path) -> None:
    terminal.start("beat")
    until(lambda: "standup" in terminal.call("schedule", "list").out, what="the file is read")
    for name in ("nightly", "standup"):
        assert terminal.call("schedule", "run-now", name).code == 0
        until(
            lambda name=name: "completed" in terminal.call("schedule", "history", name).out,
            what=f"{name} has run",
        )
    until(lambda: {it.suffix for it in reports.rglob("*.*")} >= {".sarif", ".html"}, what="the reports")
