"""Protocol documents, session files and agents files: read, or refused in one line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import strategies as st

from documents.hammer import JSON, TEXTS, as_json, depths, garbled, hammer, nearly
from symposia.agents.registry.registry import Registry
from symposia.jobs.session_file import SessionFile
from symposia.models.modes import effective_stop, mode_of
from symposia.models.protocol.reading import read_document
from symposia.models.sessions.stop_conditions import MaxTurns
from symposia.models.sessions.stop_syntax import read_stop
from symposia.models.sessions.submission import Submission
from symposia.tasks.sessions.opening import prepare

ID = "0e8a4c5e-7b0c-4b8e-9f57-0a4b3f1f2d11"
AT = "2026-01-01T00:00:00Z"
META = {"protocol_version": "1.0.0", "schema_version": "1.0.0"}
PEOPLE = [
    {"participant_id": "ann", "kind": "agent", "role_id": "lead"},
    {"participant_id": "bob", "kind": "human"},
]
COLLAB = {
    "meta": META,
    "collab_id": ID,
    "context_id": ID,
    "title": "t",
    "purpose": "p",
    "mode": "pair",
    "status": "draft",
    "participants": PEOPLE,
    "created_at": AT,
    "governance": {"lifecyclePhase": "x"},
    "events": [{"event_id": ID, "event_type": "a.b", "source": "s", "timestamp": AT, "data": {"a": [1]}}],
}
MESSAGE = {"role": "user", "content": "hello", "timestamp": AT}
DIALOG = {
    "meta": META,
    "dialog_id": "dialog-x",
    "context_id": ID,
    "status": "active",
    "messages": [MESSAGE],
    "started_at": AT,
    "thread_id": None,
}
EVENT = {
    "event_id": ID,
    "event_type": "MAPTurnDispatched",
    "session_id": ID,
    "timestamp": AT,
    "payload": {"role_id": ID, "turn_number": 1, "token_id": ID},
    "target_roles": ["a"],
}
DOCUMENTS = {"collab": COLLAB, "dialog": DIALOG, "message": MESSAGE, "event": EVENT}

SESSION: dict[str, Any] = {
    "title": "t",
    "purpose": "p",
    "mode": "swarm",
    "collab_id": ID,
    "context_id": ID,
    "participants": [
        {"participant_id": "ann", "agent": "echo", "role_id": "lead"},
        {
            "participant_id": "bob",
            "agent": {"agent": "noop", "temperature": 0.5, "parameters": {"replies": ["x"]}},
        },
    ],
    "agents": {"ann": {"agent": "echo", "max_tokens": 10, "instructions": "be brief"}},
    "stop": {
        "any": [{"max_turns": 3}, {"all": [{"text": {"text": "DONE", "by": "ann"}}, {"deadline_s": 4.5}]}]
    },
    "options": {"items": [{"text": "a", "role": "lead"}], "max_items": 3},
    "policy": {"attempts": 2, "then": "substitute", "substitute": "noop"},
    "policies": {"bob": {"backoff_s": 0.1, "turn_timeout_s": 3}},
    "messages": ["hello", {"role": "user", "content": "you"}],
    "parameters": {"a": {"b": [1, None]}},
    "thread_id": ID,
}
PAIR = {
    "title": "t",
    "purpose": "p",
    "mode": "pair",
    "participants": [{"participant_id": "a"}, {"participant_id": "b"}],
}


def session_file(name: str, text: str) -> SessionFile:
    """A file with this text, as it is read: from bytes."""
    return SessionFile(name, text.encode(errors="replace").decode())


def admitted(submission: Submission) -> None:
    """All that `submit` asks before it writes."""
    prepared = prepare(submission, known_agents=frozenset({"echo", "noop"}), max_message_bytes=100_000)
    stop = effective_stop(prepared.collab.mode, prepared.stop) | MaxTurns(10)
    roles = mode_of(prepared.collab.mode).roles(prepared.collab, prepared.options)
    prepared.spec(stop, roles).model_dump_json(exclude_defaults=True)


@depths
@pytest.mark.parametrize("kind", DOCUMENTS)
def test_fuzzed_protocol_documents_as_data(kind: str, examples: int) -> None:
    hammer(
        nearly(DOCUMENTS[kind]), lambda document: read_document(document).value.to_wire(), examples=examples
    )


@depths
@pytest.mark.parametrize("kind", DOCUMENTS)
def test_fuzzed_protocol_documents_as_text(kind: str, examples: int) -> None:
    texts = garbled(as_json(nearly(DOCUMENTS[kind]))) | st.binary(max_size=200)
    hammer(texts, lambda text: read_document(text).value.to_json(), examples=examples)


@depths
def test_fuzzed_session_files_in_json(examples: int) -> None:
    texts = garbled(as_json(nearly(SESSION, PAIR)))
    hammer(texts, lambda text: admitted(session_file("s.json", text).submission()), examples=examples)


@depths
def test_fuzzed_session_files_in_yaml(examples: int) -> None:
    plain = nearly(SESSION, PAIR).map(
        lambda it: yaml.safe_dump(json.loads(json.dumps(it)), allow_unicode=True)
    )

    def use(text: str) -> None:
        file = session_file("s.yaml", text)
        with file.name_file_in_errors():
            admitted(file.submission())

    hammer(garbled(plain) | TEXTS, use, examples=examples)


@depths
def test_fuzzed_session_files_of_bytes(tmp_path: Path, examples: int) -> None:
    path = tmp_path / "session.yaml"

    def use(content: bytes) -> None:
        path.write_bytes(content)
        SessionFile.open(str(path)).submission()

    hammer(st.binary(max_size=300), use, examples=examples)


@depths
def test_fuzzed_stop_conditions(examples: int) -> None:
    hammer(
        nearly(SESSION["stop"], {"max_rounds": 2}) | JSON,
        lambda data: read_stop(data).to_data(),
        examples=examples,
    )


AGENTS: dict[str, Any] = {
    "models": {
        "house": {"model": "m", "base_url": "http://127.0.0.1:1/v1", "api_key_env": "K", "http_retries": 1}
    },
    "agents": {
        "coder": {"kind": "llm", "model": "house", "temperature": 0.5, "window": 3, "instructions": "x"},
        "linter": {"kind": "python", "callable": "json:dumps"},
        "greeter": {"kind": "scripted", "replies": ["Hello, {last}", {"pass": True}], "at_end": "repeat"},
        "runner": {"kind": "command", "command": ["true"]},
        "person": {"kind": "human"},
    },
}


@depths
def test_fuzzed_agents_files(tmp_path: Path, examples: int) -> None:
    path = tmp_path / "agents.toml"
    tables = nearly(AGENTS, values=JSON.filter(lambda value: value is not None))

    def use(text: str) -> None:
        path.write_text(text, encoding="utf-8", errors="replace")
        registry = Registry.load(path)
        registry.describe()

    hammer(garbled(tables.map(toml)) | TEXTS, use, examples=examples)


def toml(document: Any) -> str:
    """A document as TOML, with every table but the outermost one inline."""
    if not isinstance(document, dict):
        return inline(document)
    return "\n".join(f"{json.dumps(name)} = {inline(value)}" for name, value in document.items())


def inline(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(name)} = {inline(it)}" for name, it in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(inline, value)) + "]"
    return json.dumps(value)
