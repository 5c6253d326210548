"""The wheel holds what an installed Symposia needs, and nothing else of the repository."""

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

#: They start servers of their own.
pytestmark = pytest.mark.long

ROOT = Path(__file__).parents[2]
PACKAGES = (
    "agents",
    "client",
    "config",
    "factories",
    "jobs",
    "models",
    "patches",
    "reviews",
    "state",
    "tasks",
    "testing",
    "workers",
)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """The names of the files in a wheel built from a copy, so that nothing built before gets into it."""
    source, target = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel")
    for path in ROOT.iterdir():
        if (
            path.is_dir()
            and not path.name.startswith(".")
            and path.suffix != ".egg-info"
            and path.name != "build"
        ):
            shutil.copytree(path, source / path.name, ignore=shutil.ignore_patterns("__pycache__"))
        elif path.is_file():
            shutil.copy(path, source)
    build = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--no-deps",
        "--no-build-isolation",
        "--no-index",
    ]
    subprocess.run([*build, "--wheel-dir", target, source], check=True, capture_output=True)
    (built,) = target.glob("symposia-*.whl")
    with zipfile.ZipFile(built) as archive:
        return set(archive.namelist())


def test_wheel_holds_every_module_of_every_package(wheel: set[str]) -> None:
    inside = {path for package in PACKAGES for path in (ROOT / package).rglob("*.py")}
    modules = {*inside, *ROOT.glob("*.py")}
    expected = {f"symposia/{path.relative_to(ROOT)}" for path in modules - {ROOT / "setup.py"}}
    assert expected <= wheel


def test_wheel_holds_scripts_data_and_py_typed(wheel: set[str]) -> None:
    data = {
        path
        for kind in ("*.css", "*.html", "*.jinja", "*.js", "*.lua", "*.toml")
        for package in PACKAGES
        for path in (ROOT / package).rglob(kind)
    }
    assert any(path.suffix == ".lua" for path in data)
    assert {f"symposia/{path.relative_to(ROOT)}" for path in data} <= wheel
    assert "symposia/py.typed" in wheel


def test_wheel_holds_every_example(wheel: set[str]) -> None:
    files = {path for path in (ROOT / "examples").rglob("*") if path.is_file() and path.suffix != ".pyc"}
    assert ROOT / "examples/starter/first.py" in files
    assert {f"symposia/{path.relative_to(ROOT)}" for path in files} <= wheel


def test_wheel_holds_nothing_else(wheel: set[str]) -> None:
    inside = {name.removeprefix("symposia/") for name in wheel if name.startswith("symposia/")}
    outside = {name.partition("/")[0] for name in wheel} - {"symposia"}
    assert {name.partition("/")[0] for name in inside if "/" in name} <= {*PACKAGES, "archive", "examples"}
    assert inside.isdisjoint({"pyproject.toml", "setup.py"})
    assert not [name for name in inside if name.endswith(".pyc")]
    assert all(name.endswith(".dist-info") for name in outside)
