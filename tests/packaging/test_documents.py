"""Documents and docstrings name what exists: imports, attributes, errors, fields of a session file, settings."""

import ast
import builtins
import importlib
import re
from collections.abc import Iterator

import pytest

import symposia
from documents.pages import PAGES, ROOT, Page
from symposia.models.memory.learned import MemoryChoices

OUTSIDE = {"benchmarks", "build", "examples", "tests"}
SOURCES = sorted(
    path
    for path in ROOT.rglob("*.py")
    if (part := path.relative_to(ROOT).parts[0]) not in OUTSIDE and not part.startswith(".")
)
#: An entry of the section "Raises": the names before its colon.
RAISED = re.compile(r"^ {4}([A-Z]\w+(?:, [A-Z]\w+)*)(?::|\.$)", re.MULTILINE)


def programs(page: str) -> Iterator[ast.Module]:
    for program in Page(page).take_all("python"):
        yield ast.parse(program)


def symposia_names(tree: ast.AST) -> Iterator[str]:
    """Full names of what a program imports from the package, or reads as an attribute of it."""
    tests = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and "symposia" in {argument.arg for argument in node.args.args}
    ]
    of_fixtures = {attribute for test in tests for attribute in ast.walk(test)}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "symposia":
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (it.name for it in node.names if it.name.split(".")[0] == "symposia")
        elif (
            node not in of_fixtures
            and isinstance(node, ast.Attribute)
            and ast.unparse(node).startswith("symposia.")
        ):
            yield ast.unparse(node)


def resolve(name: str) -> object:
    module, *parts = name.split(".")
    found: object = importlib.import_module(module)
    for part in parts:
        module = f"{module}.{part}"
        found = getattr(found, part) if hasattr(found, part) else importlib.import_module(module)
    return found


@pytest.mark.parametrize("page", PAGES)
def test_python_blocks_name_what_exists(page: str) -> None:
    for tree in programs(page):
        for name in symposia_names(tree):
            resolve(name)


@pytest.mark.long
def test_raises_sections_name_classes_that_exist() -> None:
    trees = {path: ast.parse(path.read_text()) for path in SOURCES}
    nodes = [node for tree in trees.values() for node in ast.walk(tree)]
    known = {*dir(builtins), *(node.name for node in nodes if isinstance(node, ast.ClassDef))}
    known |= {it.asname or it.name for node in nodes if isinstance(node, ast.ImportFrom) for it in node.names}
    unknown = [
        f"{path.relative_to(ROOT)}: {name}"
        for path, tree in trees.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        for names in RAISED.findall((ast.get_docstring(node) or "").partition("Raises:\n")[2])
        for name in names.split(", ")
        if name not in known
    ]
    assert not unknown


def first_column(section: str, heading: str) -> list[str]:
    """Names in the first column of the table that has this heading."""
    rows = section.partition(f"| {heading} |")[2].partition("\n\n")[0].splitlines()[2:]
    return [name for row in rows for name in re.findall(r"`(\w+)`", row.split(" | ")[0])]


@pytest.mark.parametrize(
    ("heading", "fields"),
    [
        (
            "field",
            {
                *symposia.Collab.model_fields,
                *symposia.HowToRun.__annotations__,
                *MemoryChoices.__annotations__,
            }
            - {"on_end"},  # a file must not name tasks or hosts
        ),
        ("field of a participant", {*symposia.Participant.model_fields, "agent", "session"}),
        ("field of `options`", {*symposia.ModeOptions.model_fields}),
        ("field of `policy`", {*symposia.FailurePolicy.model_fields}),
    ],
)
def test_fields_of_a_session_file_are_documented(heading: str, fields: set[str]) -> None:
    section = (ROOT / "docs/modes.md").read_text().partition("## Session files")[2]
    assert sorted(first_column(section, heading)) == sorted(fields)


def cells(row: str) -> list[str]:
    return [it.strip() for it in row.strip("|").split("|")]
