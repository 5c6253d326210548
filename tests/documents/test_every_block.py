"""Every block of the documentation that is not typed in a terminal is taken by a test, which uses it."""

from __future__ import annotations

import ast
import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from documents.pages import PAGES, ROOT, Page
from documents.registry import READ_WHOLE, TAKEN_BY

MODULES = sorted({it for modules in TAKEN_BY.values() for it in modules})


def pages_of(module: str) -> list[Page]:
    """The pages whose blocks a module takes."""
    name = f"taken_{module.replace('/', '_').removesuffix('.py')}"
    spec = importlib.util.spec_from_file_location(name, ROOT / module)
    assert spec
    assert spec.loader
    loaded = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, name, loaded)
        spec.loader.exec_module(loaded)
    values = vars(loaded).values()
    several = [page for it in values if isinstance(it, dict) for page in it.values()]
    return [it for it in (*values, *several) if isinstance(it, Page)]


def left_of(page: str, taking: list[Page]) -> list[str]:
    """The first lines of the blocks of a page that no module takes."""
    taken = {block for it in taking if it.path == page for block in it.taken}
    blocks = [it for it in Page(page).blocks if not it.is_typed and it not in taken]
    return [f"{page}: {it.language or 'no language'}: {it.text.splitlines()[0]}" for it in blocks]


def test_no_block_is_left() -> None:
    taking = [page for module in MODULES for page in pages_of(module)]
    left = [it for page in PAGES if page not in READ_WHOLE for it in left_of(page, taking)]
    assert left == []


def test_pages_and_modules_of_the_registry_have_blocks() -> None:
    with_blocks = {it for it in PAGES if any(not block.is_typed for block in Page(it).blocks)}
    assert {*TAKEN_BY, *READ_WHOLE} == with_blocks
    for page, modules in TAKEN_BY.items():
        for module in modules:
            assert [it for it in pages_of(module) if it.path == page and it.taken], f"{module}: {page}"


def unused_names(tree: ast.Module) -> Iterator[str]:
    """Names for blocks that no other line of the module reads."""
    read = {it.id for it in ast.walk(tree) if isinstance(it, ast.Name) and isinstance(it.ctx, ast.Load)}
    for statement in tree.body:
        if isinstance(statement, ast.Assign) and ".take" in ast.unparse(statement.value):
            targets = [it for target in statement.targets for it in ast.walk(target)]
            yield from (it.id for it in targets if isinstance(it, ast.Name) and it.id not in read)


@pytest.mark.parametrize("module", MODULES)
def test_taken_blocks_are_used(module: str) -> None:
    assert list(unused_names(ast.parse(Path(ROOT / module).read_text()))) == []


def test_block_without_a_test_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("documents.pages.ROOT", tmp_path)
    text = "- a list\n\n  ```toml\n  [a]\n  ```\n\n```python\nprint()\n```\n\n```console\n$ symposia\n```\n"
    (tmp_path / "page.md").write_text(text)
    page = Page("page.md")
    assert page.take("toml", "[a]") == "[a]\n"
    assert left_of("page.md", [page]) == ["page.md: python: print()"]
    assert list(
        unused_names(ast.parse('A = PAGE.take("python", "")\nB = PAGE.take("toml", "")\nprint(B)\n'))
    ) == ["A"]
