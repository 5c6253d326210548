"""`symposia config` shows every setting with its value and source, and no password."""

from __future__ import annotations

from pathlib import Path

import pytest

from live import REGISTRY, until
from processes.terminal import Terminal
from symposia.config.settings import Settings


def test_every_setting_is_shown_with_its_meaning(bare: Terminal):
    said = bare.call("config")
    assert said.code == 0
    assert [line.partition(":")[0] for line in said.out.splitlines() if line.startswith("SYMPOSIA_")] == [
        f"SYMPOSIA_{name.upper()}" for name in Settings.model_fields
    ]
    assert "SYMPOSIA_SWEEP_INTERVAL_S: 0.2  (from SYMPOSIA_SWEEP_INTERVAL_S)\n" in said.out
    assert "SYMPOSIA_AGENTS_FILE: not set\n  The agents file. Default: `agents.toml`" in said.out


def test_json_has_value_source_default_and_meaning(bare: Terminal):
    rows = {it["name"]: it for it in bare.call("config", "--json").json()["settings"]}
    assert rows.keys() == Settings.model_fields.keys()
    assert rows["redispatch_after_s"] == {
        "name": "redispatch_after_s",
        "variables": ["SYMPOSIA_REDISPATCH_AFTER_S"],
        "value": 2,
        "source": "SYMPOSIA_REDISPATCH_AFTER_S",
        "default": "10",
        "allowed": "1 to 3,600",
        "meaning": "Seconds that a planned turn waits for a worker before its task is sent again.",
    }


def test_changed_leaves_out_defaults(bare: Terminal):
    rows = bare.call("config", "--changed", "--json").json()["settings"]
    assert {"sweep_interval_s", "worker_processes"} <= {it["name"] for it in rows}
    assert "default" not in {it["source"] for it in rows}


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_passwords_are_hidden(bare: Terminal, monkeypatch, options):
    monkeypatch.setenv("SYMPOSIA_REDIS_URL", "redis+sentinel://:hunter2@h/main?sentinel_password=hunter3")
    monkeypatch.setenv("SYMPOSIA_DATABASE_URL", "postgresql://u:hunter4@h/d")
    said = bare.call("config", *options)
    assert "redis+sentinel://" in said.out
    assert "hunter" not in said.out + said.err


def test_commands_warn_of_a_misspelt_variable(bare: Terminal, monkeypatch):
    monkeypatch.setenv("SYMPOSIA_RETENTION", "60")
    line = "SYMPOSIA_RETENTION, did you mean SYMPOSIA_RETENTION_S?"
    assert bare.call("config", "--changed").err.count(line) == 1
    findings = bare.call("doctor", "--json").json()["findings"]
    assert [it["grade"] for it in findings if it["subject"] == "settings"] == ["ok", "warning"]


@pytest.mark.long
def test_workers_get_the_settings_of_the_file(bare: Terminal, tmp_path: Path, redis_url: str):
    """Also in processes of a worker group, which run with another environment."""
    (tmp_path / "registry.toml").write_text(REGISTRY)
    (tmp_path / "symposia.toml").write_text(f"redis_url = '{redis_url}'\nagents_file = 'registry.toml'\n")
    bare.settings["misspelt"] = "1"
    worker = bare.start("worker", "--processes", "2", "--name", "w@file")
    until(lambda: {"w-1@file", "w-2@file"} <= alive(bare), timeout_s=40, what="both are there")
    assert (worker.out + worker.err).count("SYMPOSIA_MISSPELT") == 1
    worker.interrupt().ended()
    bare.wait_until_nothing_runs()


def alive(terminal: Terminal) -> set[str]:
    findings = terminal.call("doctor", "--json").json()["findings"]
    return {it["text"].split()[0] for it in findings if it["subject"] == "workers" and " has " in it["text"]}
