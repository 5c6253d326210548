"""Changed agents: the log lines of workers and of `symposia up --reload` that docs/agents.md shows."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from documents.files import write_files
from documents.matching import assert_shown
from documents.pages import Page
from live import until
from processes.terminal import Terminal
from servers.ports import keep_port
from symposia.agents.registry import source as source_module
from symposia.client.building.runtime import registry_source
from symposia.config.settings import load_settings

PAGE = Page("docs/agents.md")
MODULES = PAGE.take("toml", "modules = ")
RELOADED = PAGE.take("text", "not reloaded")
READ_AGAIN = PAGE.take("text", "agents file read again")

ADA = '[agents.ada]\nkind = "scripted"\n'
BEN = '[agents.ben]\nkind = "scripted"\nreplies = ["{}"]\n'
MODULE = "import symposia\n\n\n@symposia.agent('ada')\ndef ada(turn):\n    return 'Hello.'\n"


def test_log_lines_of_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(source_module, "CHECK_EVERY_S", 0)  # each call checks the file
    caplog.set_level(logging.INFO, "symposia.agents.registry.source")
    file = Path("agents.toml")
    file.write_text(BEN.format("one") + ADA.replace("ada", "cyd"))
    source = registry_source(load_settings(agents_file=file, data_dir=tmp_path))
    source.current()
    file.write_text(BEN.format("two") + ADA)
    until(lambda: source.current().knows("ada"), what="the new file counts")
    file.write_text('[agents.ada]\nkind = "scripter"\n')
    until(lambda: bool(source.current()) and len(caplog.records) > 1, what="the file is refused")
    assert_shown(READ_AGAIN, "\n".join(it.getMessage() for it in caplog.records))


@pytest.mark.long
@pytest.mark.timeout(180)
def test_up_says_whether_it_reloads_changed_code(tmp_path: Path) -> None:
    write_files(tmp_path, {"agents.toml": MODULES, "my_agents.py": MODULE})
    terminal = Terminal(tmp_path, {"data_dir": str(tmp_path / "data"), "worker_processes": "1"})
    keep_port(tmp_path / "data")
    up = terminal.start("up", "--no-flower", "--no-beat", "--no-local-model", "--reload").until("| ready")
    try:
        (tmp_path / "my_agents.py").write_text(MODULE.replace("Hello.", "Good morning."))
        up.until("reloading")
        (tmp_path / "my_agents.py").write_text(f"{MODULE})")
        up.until("not reloaded")
        lines = [it for it in up.out.splitlines() if it.startswith("up       | my_agents.py")]
        assert_shown(RELOADED, "\n".join(lines))
        assert up.interrupt().ended().code == 0
    finally:
        terminal.close()
