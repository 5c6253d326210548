"""The wheel holds what an installed Symposia needs, and nothing else of the repository."""

import tarfile
import zipfile

import pytest

from distributions import ROOT, build_sdist, build_wheel, copy_sources

#: They start servers of their own.
pytestmark = pytest.mark.long

PACKAGES = (
    "agents",
    "alignment",
    "archive",
    "cli",
    "client",
    "config",
    "dashboard",
    "evaluation",
    "jobs",
    "memory",
    "models",
    "patches",
    "replay",
    "reviews",
    "schedules",
    "state",
    "tasks",
    "testing",
    "workers",
    "web",
    "workspace",
)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """The names of the files in a wheel built from a copy, so that nothing built before gets into it."""
    source = copy_sources(tmp_path_factory.mktemp("source") / "symposia")
    built = build_wheel(source, tmp_path_factory.mktemp("wheel"))
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
    assert {name.partition("/")[0] for name in inside if "/" in name} <= {*PACKAGES, "examples"}
    assert inside.isdisjoint({"pyproject.toml", "setup.py"})
    assert not [name for name in inside if name.endswith(".pyc")]
    assert all(name.endswith(".dist-info") for name in outside)


def test_source_distribution_holds_no_kept_release(tmp_path_factory: pytest.TempPathFactory) -> None:
    source = copy_sources(tmp_path_factory.mktemp("source") / "symposia")
    assert list(source.glob("tests/upgrades/releases/*/*.whl"))
    built = build_sdist(source, tmp_path_factory.mktemp("sdist"))
    with tarfile.open(built) as archive:
        assert not [name for name in archive.getnames() if "upgrades" in name or name.endswith(".whl")]
