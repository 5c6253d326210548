"""The repository root is the package: nothing imports its sub-packages by bare name, and only `config` reads the environment."""

import ast
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = {
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
    "workers",
    "workspace",
}
HOLDERS = sorted(PACKAGES | {"benchmarks", "examples", "tests"})


def sources(folder: str) -> list[Path]:
    return sorted((ROOT / folder).rglob("*.py"))


def imported(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            yield node.module


def packages_of(tree: ast.AST) -> set[str]:
    """The first parts of all absolute imports."""
    return {name.partition(".")[0] for name in imported(tree)}


@pytest.mark.parametrize("document", ["CONTRIBUTING.md", "docs/architecture.md"])
def test_documents_show_the_checked_layers(document: str) -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    (layers,) = [it["layers"] for it in contracts if it["id"] == "one-way"]
    shown = [it.replace(" | ", ", ") for it in layers if it not in {"__main__", "errors", "testing"}]
    assert f"\n    {' -> '.join(shown)}\n" in (ROOT / document).read_text()


def offenders(folder: str, forbidden: Callable[[ast.AST], bool]) -> list[str]:
    """The modules of a folder of the root, and of the root for an empty name, that break a rule.

    `setup.py` is no module of the package: it runs in a build.
    """
    paths = sources(folder) if folder else sorted({*ROOT.glob("*.py")} - {ROOT / "setup.py"})
    return [str(path.relative_to(ROOT)) for path in paths if forbidden(ast.parse(path.read_text()))]


@pytest.mark.parametrize("folder", ["", *HOLDERS])
def test_no_package_is_imported_by_its_bare_name(folder: str) -> None:
    assert not offenders(folder, lambda tree: not packages_of(tree).isdisjoint(PACKAGES))


@pytest.mark.parametrize("folder", sorted({"", *PACKAGES} - {"config"}))
def test_the_environment_is_read_by_config_alone(folder: str) -> None:
    read = {"environ", "environb", "getenv", "getenvb"}

    def reads(tree: ast.AST) -> bool:
        return any(isinstance(node, ast.Attribute) and node.attr in read for node in ast.walk(tree))

    assert not offenders(folder, reads)


@pytest.mark.parametrize("folder", sorted({"", *PACKAGES}))
def test_inside_the_package_imports_are_relative(folder: str) -> None:
    assert not offenders(folder, lambda tree: "symposia" in packages_of(tree))


@pytest.mark.parametrize("folder", sorted(PACKAGES - {"agents", "models", "workers"}))
def test_nothing_is_imported_by_name_against_the_order(folder: str) -> None:
    """Except for modules with an earlier path, and for programs that start what is above them."""

    def imports_by_name(tree: ast.AST) -> bool:
        calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and node.args]
        names = [ast.unparse(call.args[0]) for call in calls if "import_module" in ast.unparse(call.func)]
        return any(name.strip("'f").startswith("symposia") for name in names)

    assert not offenders(folder, imports_by_name)
