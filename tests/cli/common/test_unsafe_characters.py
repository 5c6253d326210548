"""Text of participants never controls the terminal, in any output format."""

from __future__ import annotations

import json

import pytest

from processes.terminal import Terminal
from symposia.models.text.redact import json_text

UNSAFE = "\x07\x1b\x7f\x85\x9b\u061c\u200e\u200f\u2028\u2029\u202a\u202e\u2060\u2066\u2069\ufeff\U000e0041"
HOSTILE = f"red\x9b31m {UNSAFE} ٣ שלום 漢字 \U0001f600"


@pytest.fixture
def hostile(terminal: Terminal, tmp_path) -> str:
    """The id of a session in which every text is hostile. No worker runs, so nothing is said in it."""
    person = {"agent": "echo", "display_name": HOSTILE}
    session = {
        "title": HOSTILE,
        "purpose": HOSTILE,
        "mode": "round_robin",
        "protocol": "alignment",
        "participants": [{"participant_id": name, **person} for name in ("ann", "bob")],
        "messages": [HOSTILE],
    }
    (tmp_path / "session.json").write_text(json.dumps(session))
    return terminal.call("submit", str(tmp_path / "session.json")).out.strip()


TEXT_COMMANDS = ("graph", "graph --format mermaid", "graph --format dot", "show", "export --format markdown")
JSON_COMMANDS = ("show --json", *(f"export --format {it}" for it in ("json", "openai", "anthropic")))


@pytest.mark.leaves_keys
@pytest.mark.parametrize("command", [*TEXT_COMMANDS, *JSON_COMMANDS])
def test_sessions_print_no_unsafe_characters(terminal: Terminal, hostile: str, command: str):
    name, *options = command.split()
    said = terminal.call(name, hostile, *options)
    assert said.code == 0, said.err
    assert not set(UNSAFE) & set(said.out + said.err)
    assert "漢字" in said.out
    if command in JSON_COMMANDS:
        assert HOSTILE in str_values(said.json()), "programs read what was said"


def str_values(data: object) -> list[str]:
    if isinstance(data, dict):
        return [it for value in data.values() for it in str_values(value)]
    if isinstance(data, list):
        return [it for value in data for it in str_values(value)]
    return [data] if isinstance(data, str) else []


def test_json_text_is_read_back_as_it_was():
    data = {HOSTILE: [HOSTILE, 1.5, None, True]}
    for indent in (None, 2):
        text = json_text(data, indent=indent)
        assert not set(UNSAFE) & set(text)
        assert json.loads(text) == data
    assert json_text("\ud800") == '"?"'
