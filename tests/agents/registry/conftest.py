"""Modules that tests write."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest


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
