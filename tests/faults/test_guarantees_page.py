"""Every promise of docs/guarantees.md names tests that hold it, and each of them exists."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "guarantees.md").read_text()
NAMED = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")
#: Sections whose sentences are promises, or the limits of some.
PROMISES = ("## What is guaranteed", "## Assumptions", "## What is not guaranteed")


def promises():
    """The bullets of those sections, each with the lines that belong to it."""
    for section in re.split(r"^(?=## )", PAGE, flags=re.MULTILINE):
        if section.startswith(PROMISES):
            yield from re.split(r"^- ", section, flags=re.MULTILINE)[1:]


def functions(file):
    return {node.name for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize("promise", list(promises()), ids=lambda promise: " ".join(promise.split()[:8]))
def test_every_promise_names_tests_that_exist(promise):
    named = NAMED.findall(promise)
    assert named, "it names none"
    missing = [f"{file}::{name}" for file, name in named if name not in functions(ROOT / file)]
    assert not missing


def test_linked_files_exist():
    targets = re.findall(r"\]\(([^)#]+)", PAGE)
    missing = [target for target in targets if not (ROOT / "docs" / target).exists()]
    assert not missing
