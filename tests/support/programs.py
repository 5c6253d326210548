"""Programs and files of the machine that tests need."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import NoReturn

import pytest

#: Names of programs and files without which tests fail; tests skip without others.
REQUIRED = frozenset(os.environ.get("SYMPOSIA_TEST_REQUIRED", "").split())
#: Packages that `make node-tools` installs, and their programs.
VENV = Path(__file__).parents[2] / ".venv"
NODE_PACKAGES = VENV / "node" / "node_modules"
NODE_PROGRAMS = NODE_PACKAGES / ".bin"


def find_program(name: str, *others: str) -> str:
    """The path of a program, or of one that replaces it; without one the test is skipped, or fails if it is required."""
    for candidate in (name, *others):
        if (path := shutil.which(candidate)) is not None:
            return path
    return _miss(name, target="debian-packages")


def find_node_program(name: str) -> str:
    """The same for a program of `make node-tools`."""
    if (path := shutil.which(name, path=str(NODE_PROGRAMS))) is not None:
        return path
    return _miss(name, target="node-tools")


def find_node_file(name: str, path: str) -> Path:
    """The same for a file in the packages of `make node-tools`; `name` is what it is required by."""
    if (found := NODE_PACKAGES / path).is_file():
        return found
    return _miss(name, target="node-tools")


def find_frameworks() -> Path:
    """The same for the folder of packages of `make frameworks`."""
    if (folder := VENV / "frameworks").joinpath(".installed").is_file():
        return folder
    return _miss("frameworks", target="frameworks")


def find_mkdocs() -> Path:
    """The same for the program of `make docs-tools`."""
    if (folder := VENV / "docs").joinpath(".installed").is_file():
        return folder / "bin" / "mkdocs"
    return _miss("docs-tools", target="docs-tools")


def _miss(name: str, *, target: str) -> NoReturn:
    reason = f"needs {name}: make {target}"
    if name in REQUIRED:
        pytest.fail(reason)
    pytest.skip(reason)
