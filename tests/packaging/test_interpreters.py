"""The source distribution and the wheel, installed in empty environments of every Python that the package names."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

from distributions import ROOT, build_sdist, build_wheel, copy_sources, find_python, install
from scaling import patient

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
VERSION = re.compile(r"Programming Language :: Python :: (3\.\d+)")
VERSIONS = [found[1] for it in PROJECT["classifiers"] if (found := VERSION.fullmatch(it))]

SESSION = """
import symposia

def ada(turn):
    return "The Lantern Room?" if turn.turn_number == 1 else "AGREED."

def ben(turn):
    return "It has a lamp in every window."

collab = {"title": "A name", "purpose": "Find a name.", "mode": "round_robin"}
result = symposia.run_local_sync(collab, agents={"ada": ada, "ben": ben}, stop={"max_turns": 3})
print(*(it.content for it in result.dialog.messages), sep="|")
"""
SAID = "The Lantern Room?|It has a lamp in every window.|AGREED."


def test_least_version_is_the_first_classifier() -> None:
    assert f">={VERSIONS[0]}" == PROJECT["requires-python"]
    assert sorted(VERSIONS, key=lambda it: int(it.partition(".")[2])) == VERSIONS


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copy_sources(tmp_path_factory.mktemp("source") / "symposia")


@pytest.fixture(scope="module")
def built_source(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_sdist(source, tmp_path_factory.mktemp("sdist"))


@pytest.fixture(scope="module")
def wheel(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_wheel(source, tmp_path_factory.mktemp("wheel"))


def smoke(python: Path) -> None:
    """What an installation with the extra `cli` does at least."""
    environment = {**os.environ, "PYTHONPATH": "", "SYMPOSIA_DATA_DIR": str(python.parents[1] / "data")}
    outputs = []
    for command in ([python.with_name("symposia"), "--version"], [python, "-c", SESSION]):
        done = subprocess.run(
            command,
            cwd=python.parents[1],
            env=environment,
            capture_output=True,
            text=True,
            timeout=patient(60),
            check=False,
        )
        assert done.returncode == 0, done.stderr
        outputs.append(done.stdout.strip())
    assert outputs[0].endswith(PROJECT["version"])
    assert outputs[1] == SAID


@pytest.mark.long
@pytest.mark.timeout(300)
def test_source_distribution_installs_and_runs(built_source: Path, tmp_path: Path) -> None:
    """pip builds it in isolation: the build requirements are complete."""
    smoke(install(f"{built_source}[cli]", python=Path(sys.executable), folder=tmp_path / "environment"))


@pytest.mark.long
def test_source_distribution_has_all_of_the_wheel(built_source: Path, wheel: Path, tmp_path: Path) -> None:
    with tarfile.open(built_source) as archive:
        archive.extractall(tmp_path, filter="data")
    (target := tmp_path / "wheel").mkdir()
    again = build_wheel(tmp_path / built_source.name.removesuffix(".tar.gz"), target)
    with zipfile.ZipFile(wheel) as first, zipfile.ZipFile(again) as second:
        assert sorted(first.namelist()) == sorted(second.namelist())


@pytest.mark.long
@pytest.mark.timeout(300)
@pytest.mark.parametrize("version", VERSIONS)
def test_wheel_runs_a_session(version: str, wheel: Path, tmp_path: Path) -> None:
    python = find_python(version) or pytest.skip(f"needs Python {version}")
    smoke(install(f"{wheel}[cli]", python=python, folder=tmp_path / "environment"))
