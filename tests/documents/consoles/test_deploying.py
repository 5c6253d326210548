"""The console lines of docs/deploying.md and docs/containers.md that change files only."""

from __future__ import annotations

import shutil
import stat
from pathlib import Path

import pytest

from documents.lines import ROOT, read_sections
from documents.shell import run_in_shell
from documents.walk import Walk
from processes.terminal import Terminal
from programs import find_program


@pytest.mark.long
def test_files_of_systemd(tmp_path: Path) -> None:
    """The folders of the machine are in a folder of the test."""
    checkout = tmp_path / "checkout"
    shutil.copytree(ROOT / "deploy", checkout / "deploy")
    (tmp_path / "etc/systemd/system").mkdir(parents=True)
    folders = {f" {it}": f" {tmp_path}{it}" for it in ("/opt/", "/srv/", "/etc/")}
    terminal = Terminal(checkout, {})

    def init() -> None:
        """The environment of the page has no packages: they are not installed."""
        assert terminal.call("init", str(tmp_path / "srv/symposia")).code == 0

    walk = Walk(terminal, values=folders, instead={"/opt/symposia/bin/symposia init": init})
    walk.follow("deploying.md", "systemd")
    assert (tmp_path / "opt/symposia/bin/python").exists()
    assert (tmp_path / "srv/symposia/agents.toml").exists()
    assert mode_of(tmp_path / "etc/symposia/symposia.env") == 0o600
    placed = tmp_path / "etc/systemd/system"
    assert {it.name for it in placed.iterdir()} == {it.name for it in (ROOT / "deploy/systemd").iterdir()} - {
        "symposia.env.example"
    }


def test_secrets_of_containers(tmp_path: Path) -> None:
    shutil.copy(ROOT / ".env.example", tmp_path)
    Walk(Terminal(tmp_path, {})).follow("containers.md")
    assert mode_of(tmp_path / ".env") == 0o600


@pytest.mark.long
def test_secrets_of_kubernetes(tmp_path: Path) -> None:
    """Without a cluster, `--dry-run=client` reads the files and prints what would be created."""
    find_program("kubectl")
    for name in ("symposia", "agents", "flower", "keda"):
        (tmp_path / f"{name}.env").write_text("KEY=value\n")
    lines = [it.text for it in read_sections("deploying.md", "Kubernetes") if "create secret" in it.text]
    for line in lines:
        done = run_in_shell(
            Terminal(tmp_path, {}), f"{line} --dry-run=client --output jsonpath='{{.data}}'", {}
        )
        assert (done.returncode, done.stdout) == (0, '{"KEY":"dmFsdWU="}'), done
    assert len(lines) == 4


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)
