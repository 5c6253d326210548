"""Programs of the machine that tests need."""

from __future__ import annotations

import os
import shutil

import pytest

#: Names of programs without which tests fail; tests skip without others.
REQUIRED = frozenset(os.environ.get("SYMPOSIA_TEST_REQUIRED", "").split())


def find_program(name: str, *others: str) -> str:
    """The path of a program, or of one that replaces it; without one the test is skipped, or fails if it is required."""
    for candidate in (name, *others):
        if (path := shutil.which(candidate)) is not None:
            return path
    reason = f"needs {name}: make debian-packages"
    if name in REQUIRED:
        pytest.fail(reason)
    pytest.skip(reason)
