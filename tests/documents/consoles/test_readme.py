"""The console lines of README.md."""

from __future__ import annotations

import json
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from documents.lines import ROOT
from documents.pages import Page
from documents.walk import Walk
from processes.terminal import Running, Terminal
from servers.ports import own_port

pytestmark = [pytest.mark.long, pytest.mark.timeout(240)]


@pytest.fixture
def empty(tmp_path: Path) -> Iterator[Terminal]:
    """A terminal in an empty folder, without a Redis."""
    settings = {"data_dir": str(tmp_path / "data"), "flower_port": str(own_port()), "sweep_interval_s": "0.2"}
    (folder := tmp_path / "home").mkdir()
    terminal = Terminal(folder, settings)
    yield terminal
    terminal.close()


PAGE = Page("README.md")
JOBS = PAGE.take("toml", "[jobs]")


def is_up(service: Running) -> None:
    """Waits until `symposia up` has started all services."""
    service.until("up       | ready", timeout_s=60)


def test_quick_start(empty: Terminal) -> None:
    def answer(inbox: str) -> None:
        command = inbox.strip().splitlines()[-1].replace("TEXT", "Thanks.")
        assert empty.call(*shlex.split(command)[1:]).code == 0

    Walk(
        empty,
        after={"symposia up": is_up, "symposia inbox": answer},
        elsewhere=("symposia run",),
        awaited={"symposia inbox": "you is asked"},
    ).follow("README.md", "Quick start")
    empty.wait_until_nothing_runs()


def test_checkout(empty: Terminal) -> None:
    Walk(empty, after={"symposia up": is_up}).follow("README.md", "With make")
    empty.wait_until_nothing_runs()


def test_command_line(empty: Terminal) -> None:
    shutil.copytree(ROOT / "examples", empty.folder / "examples")
    services: list[Running] = []

    def start_services() -> None:
        services.append(empty.start("up", "--no-flower", "--no-beat").until("up       | ready", timeout_s=60))

    walk = Walk(
        empty,
        before={"symposia submit": start_services},
        after={"symposia submit": lambda out: walk.values.update(ID=out.strip())},
    )
    walk.follow("README.md", "Use it from the command line")
    services[0].interrupt().ended()
    empty.wait_until_nothing_runs()


def test_curl(empty: Terminal) -> None:
    shutil.copytree(ROOT / "examples/starter", empty.folder, dirs_exist_ok=True)
    (empty.folder / "symposia.toml").write_text(JOBS)
    empty.settings["http_port"] = str(own_port())
    services = empty.start("up", "--no-flower", "--no-beat")
    is_up(services)
    submit = "curl -s localhost:8765/v1/sessions --json"
    walk = Walk(
        empty,
        values={"8765": empty.settings["http_port"]},
        after={submit: lambda out: walk.values.update(ID=json.loads(out)["id"])},
        awaited={submit: '"id"', "curl -s localhost:8765/v1/sessions/ID/questions": "turn_id"},
    )
    walk.follow("README.md", "Use it from a browser, with curl, or from a chat program")
    services.interrupt().ended()
    empty.wait_until_nothing_runs()
