"""What models are shown of the project around an item: rules, map, callers of what changed, signatures of what is used."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from review_tools.fixture import panel
from symposia.models.sessions.known_agents import ReaderModel
from symposia.reviews.chunks.imports import ImportIndex
from symposia.reviews.chunks.outline import outline_of
from symposia.reviews.chunks.planner import SessionPlanner
from symposia.reviews.chunks.project import MAX_SYMBOLS, Project
from symposia.reviews.sources.source import make_item
from symposia.reviews.values.changes import Hunk
from symposia.reviews.values.runs import ItemKind, ReadItem

TEXT = "def total(a):\n    return a\n\n\ndef other():\n    return 1\n"
READERS = {"reviewer": ReaderModel(context_tokens=60_000)}
CHANGED = Hunk(2, 1, ("    return check(a)",), 2, 1)


def put(folder: Path, files: Mapping[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def item(text: str = TEXT, path: str = "app.py", **more: object) -> ReadItem:
    kind = more.pop("kind", ItemKind.FILE)
    return make_item(text, path, kind, **more)


def planner(folder: Path, **more: object) -> SessionPlanner:
    asked = panel("reviewer", **more)
    return SessionPlanner(asked, READERS, Project(asked, folder))


def test_rules_of_panel_and_project_are_shown(tmp_path: Path) -> None:
    put(tmp_path, {"AGENTS.md": "Never use floats."})
    rules = [{"paths": ["*.py"], "text": "Type all."}, {"paths": ["*.js"], "text": "No var."}]
    plan = planner(tmp_path, review_rules="Be strict.", rules=rules)
    (session,) = plan.plan(item()).sessions
    assert (
        "Rules of the panel:\nBe strict.\n\nRules of the project (AGENTS.md):\nNever use floats."
        in plan.guide
    )
    assert "Type all." in session.opening
    assert "No var." not in plan.guide + session.opening


def test_linked_rules_and_hidden_files_are_not_read(tmp_path: Path) -> None:
    put(
        tmp_path,
        {"secret.py": "def hidden_name():\n    pass\n", "root/.dotted.py": "def dotted():\n    pass\n"},
    )
    for name in ("AGENTS.md", "link.py"):
        (tmp_path / "root" / name).symlink_to(tmp_path / "secret.py")
    guide = planner(tmp_path / "root").guide
    assert "hidden_name" not in guide
    assert "dotted" not in guide


def test_map_begins_with_what_most_files_import(tmp_path: Path) -> None:
    many = "".join(f"def f{number}():\n    return 1\n\n\n" for number in range(MAX_SYMBOLS + 5))
    put(
        tmp_path,
        {"a.py": "def a(): ...\n", "base.py": "class Shop:\n    def close(self): ...\n", "z.py": many},
    )
    put(
        tmp_path,
        {f"use{n}.py": f"from base import Shop\nfrom a import a\ndef use{n}(): ...\n" for n in range(3)},
    )
    project = Project(panel("reviewer"), tmp_path)
    assert project.map(75) == "a.py\n  def a(): ...\nbase.py\n  class Shop:\n    def close(self): ..."
    assert f"  def f{MAX_SYMBOLS - 1}():\n  ..." in project.map(10_000)


@pytest.mark.parametrize(
    ("importing", "shown"),
    [
        ("from app import other, total\n\nprint(total(3))\nsubtotal = 1\n", True),
        ("import app\n\nprint(app.total(3))\n", True),
        ("from . import app\n\n\nprint(app.total(3))\n", True),
        ("from shop.app import total\n\nprint(total(3))\n", False),
        ("print(total(3))\n", False),
    ],
    ids=["names", "module", "relative", "another-app", "no-import"],
)
def test_callers_are_found_by_imports(tmp_path: Path, importing: str, shown: bool) -> None:
    put(tmp_path, {"app.py": TEXT, "use.py": importing, "other/app.py": TEXT, "use.md": "total"})
    read = item(kind=ItemKind.CHANGE, hunks=(CHANGED,))
    callers = Project(panel("reviewer"), tmp_path).callers(read, outline_of("app.py", TEXT))
    assert ("total(3)" in callers) is shown
    assert "subtotal" not in callers


@pytest.mark.parametrize(
    ("read", "expected"),
    [
        (item("", kind=ItemKind.DELETED, hunks=(Hunk(1, 2, ("def gone():", "    pass"), 1, 0),)), "use.py:1"),
        (
            item(path="new.py", kind=ItemKind.RENAMED, hunks=(), renamed_from="app.py"),
            "use.py: imports app.py",
        ),
        (
            item("x = 1\n", kind=ItemKind.CHANGE, hunks=(Hunk(1, 2, ("def gone():", "    pass"), 1, 1),)),
            "use.py:1",
        ),
    ],
    ids=["deleted", "renamed", "function-removed"],
)
def test_users_of_what_is_gone_are_shown(tmp_path: Path, read: ReadItem, expected: str) -> None:
    put(
        tmp_path,
        {"use.py": "from app import gone\n"} | ({"app.py": "x = 1\n"} if read.text == "x = 1\n" else {}),
    )
    read = read.model_copy(update={"text": read.text or "def gone():\n    pass\n"})
    callers = Project(panel("reviewer"), tmp_path).callers(read, outline_of("app.py", read.text))
    assert expected in callers


def test_signatures_of_used_functions_are_shown(tmp_path: Path) -> None:
    shop = "class Shop:\n    def __init__(self, name):\n        pass\n\n    def close(\n        self, now: bool\n    ):\n        pass\n\n    def unused(self): ...\n"
    put(
        tmp_path,
        {"stock/__init__.py": "def count(): ...\n", "stock/shop.py": shop, "unseen.py": "def no(): ...\n"},
    )
    text = "import stock\nfrom stock.shop import Shop\n\nShop('a').close(True)\nstock.count()\n"
    (session,) = planner(tmp_path).plan(item(text)).sessions
    lines = [
        "stock/__init__.py: def count(): ...",
        "stock/shop.py: class Shop:",
        "stock/shop.py: def __init__(self, name):",
        "stock/shop.py: def close( self, now: bool ):",
    ]
    assert "\n".join(lines) in session.opening
    assert "unused" not in session.opening


USES = {
    "a/x.ts": (
        "import { one, two as b } from './y';\nimport * as z from '../z/index';\nz.three();\n",
        {"a/y.ts": {"one", "two"}, "z/index.ts": {"three"}},
    ),
    "a/x.js": ("const y = require('./y.js')\n", {"a/y.js": set()}),
    "cmd/main.go": (
        'package main\nimport (\n\t"fmt"\n\t"example.com/m/a/store"\n)\nfunc f() { store.Get() }\n',
        {"a/store/s.go": {"Get"}},
    ),
    "Main.java": ("import com.shop.Cart;\nclass Main {}\n", {"src/com/shop/Cart.java": {"Cart"}}),
    "src/a.rs": ("use crate::b::{One, Two};\nuse std::io;\n", {"src/b.rs": {"One", "Two"}}),
    "pkg/mod/a.py": ("from ..b import (\n    one,  # why\n    two as t,\n)\n", {"pkg/b.py": {"one", "two"}}),
    "pkg/a.py": ("import root.pkg.b as b\nb.three()\nimport json\n", {"pkg/b.py": {"three"}}),
    "tests/t.py": ("from lib_a import c\n", {"src/lib_a/__init__.py": {"c"}}),
}
FILES = (
    "a/y.ts",
    "a/y.js",
    "z/index.ts",
    "a/store/s.go",
    "src/com/shop/Cart.java",
    "src/b.rs",
    "pkg/b.py",
    "src/lib_a/__init__.py",
    "pkg/json.py",
)


@pytest.mark.parametrize("path", USES)
def test_imports_are_resolved_in_each_language(path: str) -> None:
    text, expected = USES[path]
    index = ImportIndex(dict.fromkeys(FILES, "") | {path: text})
    assert {use.path: set(use.names) for use in index.uses(path, text)} == expected
    assert all(index.importers(target) == [path] for target in expected)


def test_only_text_rules_and_callees_decide_what_is_reviewed_again(tmp_path: Path) -> None:
    """Of 87 files three change: a leaf, one that others import without a changed signature, and one with one."""
    files = {f"n{n:02}.py": f"def f{n}(a):\n    return {n}\n" for n in range(84)}
    files |= {f"user{n}.py": "from n01 import f1\nfrom n02 import f2\n\nf1(1)\nf2(2)\n" for n in range(2)}
    files |= {"user2.py": "from n01 import f1\n\nf1(1)\n"}
    put(tmp_path, files)
    assert len(files) == 87

    def shown(**changed: str) -> dict[str, str]:
        put(tmp_path, {f"{name}.py": text for name, text in changed.items()})
        texts = {name: (tmp_path / name).read_text() for name in files}
        plan = planner(tmp_path)
        return {name: plan.plan(item(text, name)).item.shown + text for name, text in texts.items()}

    before = shown()
    changed = {
        "n00": "def f0(a):\n    return 99\n\n\ndef more(): ...\n",
        "n01": "def f1(a):\n    return 99\n",
    }
    after = shown(**changed, n02="def f2(a, b):\n    return 2\n")
    repeated = {name for name in files if before[name] != after[name]}
    assert repeated == {"n00.py", "n01.py", "n02.py", "user0.py", "user1.py"}
    put(tmp_path, {"AGENTS.md": "No floats."})
    assert all(after[name] != text for name, text in shown().items())


def test_windows_bound_the_guide(tmp_path: Path) -> None:
    put(tmp_path, {"AGENTS.md": "x" * 8_000, **{f"n{n}.py": f"def f{n}(a): ...\n" for n in range(500)}})
    sizes = [
        len(replace(planner(tmp_path), readers={"reviewer": ReaderModel(context_tokens=tokens)}).guide)
        for tokens in (300, 4_000, 16_000, 200_000)
    ]
    assert sizes[0] < 500
    assert sizes[1] <= 4_000
    assert sizes[2] <= 16_000
    assert sizes == sorted(sizes)


def test_importers_of_an_absent_file_are_those_that_find_no_other_file():
    index = ImportIndex(
        {"a.py": "import gone\nimport gone\n", "b.py": "import kept\n", "c.py": "", "kept/__init__.py": ""}
    )
    importers = {path: index.importers(path) for path in ("gone.py", "kept.py", "kept.pyi")}
    assert importers == {"gone.py": ["a.py"], "kept.py": ["b.py"], "kept.pyi": []}
