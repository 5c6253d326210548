"""A registry that follows its files: changes, refusals, and what is logged."""

from __future__ import annotations

import logging
import os

import pytest

from live import until
from symposia.agents.registry import source as source_module
from symposia.client.building.runtime import registry_source
from symposia.config.settings import load_settings
from symposia.models.errors import RegistryError
from symposia.models.sessions.options import AgentBinding

ADA = '[agents.ada]\nkind = "scripted"\nreplies = ["one"]\n'
BEN = '[agents.ben]\nkind = "scripted"\n'
SESSION = '[agents.panel]\nkind = "session"\nfile = "panel.yaml"\n'
PANEL = """
title: A panel
purpose: {purpose}
mode: round_robin
participants: [{{participant_id: ann, agent: echo}}]
stop: {{max_rounds: 1}}
"""


@pytest.fixture(autouse=True)
def _quick(monkeypatch, caplog):
    monkeypatch.setattr(source_module, "CHECK_EVERY_S", 0)  # each call checks the files
    caplog.set_level(logging.INFO, "symposia.agents.registry.source")


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "agents.toml"
    path.write_text(ADA)
    return path


@pytest.fixture
def source(file, tmp_path):
    return registry_source(load_settings(agents_file=file, data_dir=tmp_path))


def lines(caplog):
    return [record.getMessage() for record in caplog.records]


def test_changed_file_changes_the_agents(source, file, caplog):
    older = source.current()
    file.write_text(ADA.replace("one", "two") + BEN)
    until(lambda: source.current().knows("ben"), what="the new file counts")
    assert not older.knows("ben")
    assert lines(caplog) == ["agents file read again: changed ada, added ben"]


def test_removed_entry_is_unknown(source, file, caplog):
    file.write_text(BEN)
    until(lambda: not source.current().knows("ada"), what="the new file counts")
    assert lines(caplog) == ["agents file read again: removed ada, added ben"]


def test_unchanged_file_keeps_the_registry(source, file):
    first = source.current()
    assert [source.current() for _ in range(3)] == [first] * 3


def test_replaced_file_of_the_same_size_and_time_counts(source, file):
    other = file.with_name("new")
    other.write_text(ADA.replace("one", "two"))
    found = file.stat()
    os.utime(other, ns=(found.st_atime_ns, found.st_mtime_ns))
    before = source.current()
    other.replace(file)
    until(lambda: source.current() is not before, what="the new file counts")


def test_wrong_file_keeps_the_agents_and_is_logged_once(source, file, caplog):
    first = source.current()
    file.write_text('[agents.ada]\nkind = "comand"')
    until(lambda: source.current() and lines(caplog), what="it is reported")
    for _ in range(20):
        assert source.current() is first
    (line,) = lines(caplog)
    assert line.startswith(
        f"agents file refused, keeping the agents as they were: {file}: [agents.ada] kind:"
    )
    file.write_text(BEN)
    until(lambda: source.current().knows("ben"), what="the repaired file counts")


def test_removed_file_keeps_the_agents(source, file, caplog):
    file.unlink()
    until(lambda: source.current() and lines(caplog), what="it is reported")
    assert lines(caplog) == [f"agents file refused, keeping the agents as they were: {file}: was removed"]
    assert source.current().knows("ada")


def test_file_that_is_created_later_counts(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    source = registry_source(load_settings(data_dir=tmp_path))
    assert not source.current().knows("ada")
    (tmp_path / "agents.toml").write_text(ADA)
    until(lambda: source.current().knows("ada"), what="the new file counts")


def test_file_that_is_being_written_is_read_later(source, file, monkeypatch):
    monkeypatch.setattr(source_module, "SETTLED_S", 3600)
    first = source.current()
    file.write_text("")
    for _ in range(5):
        assert source.current() is first


def test_changed_session_file_counts(file, tmp_path, caplog):
    panel = tmp_path / "panel.yaml"
    panel.write_text(PANEL.format(purpose="look"))
    file.write_text(SESSION)
    source = registry_source(load_settings(agents_file=file, data_dir=tmp_path))
    first = source.current()
    panel.write_text("mode: none")
    until(lambda: source.current() and lines(caplog), what="the wrong file is reported")
    assert source.current() is first
    panel.write_text(PANEL.format(purpose="look again"))
    newer = until(lambda: source.current() is not first and source.current(), what="the new file counts")
    assert newer.get_agent(AgentBinding(agent="panel")).document["purpose"] == "look again"


def test_threads_of_agents_are_kept(source, file):
    first = source.current()
    file.write_text(BEN)
    newer = until(lambda: source.current() is not first and source.current(), what="the new file counts")
    assert newer.threads is first.threads


def test_pool_processes_log_nothing(file, tmp_path, caplog):
    source = registry_source(load_settings(agents_file=file, data_dir=tmp_path), is_reporting=False)
    file.write_text(BEN)
    until(lambda: source.current().knows("ben"), what="the new file counts")
    assert lines(caplog) == []


def test_new_module_is_imported_and_problems_are_logged(source, file, write_module, caplog):
    write_module("late_team", 'import symposia\nsymposia.agent("eve")(print)')
    file.write_text('modules = ["late_team", "nowhere"]')
    until(lambda: source.current().knows("eve"), what="the module is imported")
    missing = "nowhere: cannot be imported: ModuleNotFoundError: No module named 'nowhere'"
    assert lines(caplog) == [
        "agents file read again: removed ada, added eve",
        f"problem in the agents file, the agent will fail: {file}: modules[1]: {missing}",
    ]


def test_clashing_module_keeps_the_agents(source, file, write_module, caplog):
    write_module("late_team", 'import symposia\nsymposia.agent("ada")(print)')
    file.write_text(f'modules = ["late_team"]\n{ADA}')
    until(lambda: source.current() and lines(caplog), what="it is reported")
    assert lines(caplog)[0].endswith(f"must not be given twice: in {file}, and in module late_team, line 2")


def test_wrong_file_at_the_start_is_an_error(file, tmp_path):
    file.write_text("x")
    with pytest.raises(RegistryError, match="must be valid TOML"):
        registry_source(load_settings(agents_file=file, data_dir=tmp_path))
