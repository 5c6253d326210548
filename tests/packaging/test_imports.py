"""The repository root is the package: nothing imports its sub-packages by bare name, and only `config` reads the environment."""

import ast
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = {
    "agents",
    "archive",
    "client",
    "config",
    "factories",
    "jobs",
    "models",
    "patches",
    "reviews",
    "state",
    "tasks",
    "workers",
}
HOLDERS = sorted(PACKAGES | {"benchmarks", "examples", "tests"})


def sources(*folders: str) -> list[Path]:
    inside = [path for folder in folders for path in (ROOT / folder).rglob("*.py")]
    return sorted([*ROOT.glob("*.py"), *inside])


def imported(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            yield node.module


def named(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("document", ["CONTRIBUTING.md", "docs/architecture.md"])
def test_documents_show_the_checked_layers(document: str) -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    (layers,) = [it["layers"] for it in contracts if it["id"] == "one-way"]
    shown = [it.replace(" | ", ", ") for it in layers if it not in {"__main__", "testing"}]
    assert f"\n    {' -> '.join(shown)}\n" in (ROOT / document).read_text()


@pytest.mark.parametrize("path", sources(*HOLDERS), ids=named)
def test_no_package_is_imported_by_its_bare_name(path: Path) -> None:
    names = {name.partition(".")[0] for name in imported(ast.parse(path.read_text()))}
    assert names.isdisjoint(PACKAGES)


@pytest.mark.parametrize("path", sources(*sorted(PACKAGES - {"config"})), ids=named)
def test_the_environment_is_read_by_config_alone(path: Path) -> None:
    read = {"environ", "environb", "getenv", "getenvb"}
    names = {node.attr for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Attribute)}
    assert names.isdisjoint(read)


@pytest.mark.parametrize("path", sources(*sorted(PACKAGES)), ids=named)
def test_inside_the_package_imports_are_relative(path: Path) -> None:
    assert "symposia" not in {name.partition(".")[0] for name in imported(ast.parse(path.read_text()))}
