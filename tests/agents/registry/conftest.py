"""Agents files and modules that tests write."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from symposia.agents.registry.registry import Registry

FILE = """
[models.house]
model = "qwen"
base_url = "http://localhost:8000/v1"
api_key_env = "HOUSE_KEY"

[agents.writer]
kind = "llm"
model = "house"
instructions = "You write."

[agents.claude]
kind = "llm"
model = "anthropic:claude-sonnet-4-5"

[agents.greeter]
kind = "python"
callable = "stub_agents.callables:greet"
window = 7

[agents.script]
kind = "scripted"
replies = ["hello", { pass = true }]
"""


@pytest.fixture
def write_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str, str], Path]]:
    """Write a module that can be imported; it is forgotten after the test."""
    folder = tmp_path / "code"
    folder.mkdir()
    monkeypatch.syspath_prepend(folder)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # a file may change twice in one second
    before = set(sys.modules)

    def write(name: str, text: str) -> Path:
        path = folder / f"{name.replace('.', '/')}.py"
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_text(text)
        return path

    yield write
    for name in set(sys.modules) - before:
        if str(folder) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


@pytest.fixture
def agents() -> str:
    """An agents file with agents of three kinds."""
    return FILE


@pytest.fixture
def load(tmp_path: Path) -> Callable[..., Registry]:
    """Load the registry of an agents file."""

    def loaded(text: str = FILE, **options: Any) -> Registry:
        path = tmp_path / "agents.toml"
        path.write_text(text)
        return Registry.load(path, **options)

    return loaded


@pytest.fixture
def without_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """An environment without the variables of model providers."""
    for name in ("OPENAI_API_KEY", "AZURE_OPENAI_ENDPOINT", "AZURE_VOICELIVE_ENDPOINT"):
        monkeypatch.delenv(name, raising=False)
