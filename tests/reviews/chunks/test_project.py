"""What models are shown of the project around an item: its rules, and callers of what changed."""

from __future__ import annotations

from pathlib import Path

from review_tools.fixture import panel
from symposia.models.sessions.known_agents import ReaderModel
from symposia.reviews.chunks.planner import SessionPlanner
from symposia.reviews.chunks.project import MAX_FILES, MAX_SYMBOLS, Project
from symposia.reviews.sources.source import Ranges, make_item
from symposia.reviews.values.runs import ItemKind, ReadItem

TEXT = "def total(a):\n    return a\n\n\ndef other():\n    return 1\n"


def opening(folder: Path, changed: Ranges, *, text: str = TEXT, **more: object) -> str:
    asked = panel("reviewer", **more)
    kind = ItemKind.FILE if changed is None else ItemKind.CHANGE
    read: ReadItem = make_item(text, key="app.py", path="app.py", kind=kind, changed=changed)
    planner = SessionPlanner(asked, {"reviewer": ReaderModel()}, Project(asked, folder).sections)
    (session,) = planner.plan(read).sessions
    return session.opening


def test_rules_of_panel_and_project_are_shown(tmp_path: Path) -> None:
    (tmp_path / "AGENTS.md").write_text("Never use floats.")
    rules = [{"paths": ["*.py"], "text": "Type all."}, {"paths": ["*.js"], "text": "No var."}]
    shown = opening(tmp_path, None, review_rules="Be strict.", rules=rules)
    assert [it in shown for it in ("Be strict.", "Type all.", "Never use floats.", "No var.")] == [
        True,
        True,
        True,
        False,
    ]


def test_callers_of_changed_functions_are_shown(tmp_path: Path) -> None:
    (tmp_path / "shop.py").write_text("from app import other, total\n\nprint(total(3))\nsubtotal = 1\n")
    (tmp_path / "shop.md").write_text("total")
    shown = opening(tmp_path, ((2, 2),))
    assert "shop.py: 3: print(total(3))" in shown
    assert "shop.py: 4" not in shown
    assert "shop.md" not in shown
    assert "shop.py: 3" not in opening(tmp_path, None)


def test_linked_rules_are_not_read(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("hidden words")
    root = tmp_path / "root"
    root.mkdir()
    (root / "AGENTS.md").symlink_to(tmp_path / "secret")
    assert "hidden words" not in opening(root, None)


def test_files_near_the_item_are_shown_with_their_symbols(tmp_path: Path) -> None:
    files = {
        "beside.py": "class Shop:\n    def close(self):\n        return 1\n",
        "parts/lent.py": "def lend():\n    return 1\n",
        "parts/other.py": "def unseen():\n    return 1\n",
        "stock/__init__.py": "def count():\n    return 1\n",
        "beside.js": "function no() {}\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    shown = opening(tmp_path, None, text=f"import stock\nfrom parts import lent\n\n\n{TEXT}")
    lines = ["parts/lent.py: lend", "stock/__init__.py: count", "beside.py: Shop, Shop.close"]
    assert "\n".join(lines) in shown
    assert "unseen" not in shown
    assert "beside.js" not in shown


def test_map_of_near_files_is_limited(tmp_path: Path) -> None:
    many = "".join(f"def f{number}():\n    return 1\n\n\n" for number in range(MAX_SYMBOLS + 5))
    for number in range(MAX_FILES + 5):
        (tmp_path / f"n{number:03}.py").write_text(many if number == 0 else "x = 1\n")
    shown = opening(tmp_path, None)
    assert f"f{MAX_SYMBOLS - 1}, ...\nn001.py\n" in shown
    assert f"n{MAX_FILES - 1:03}.py" in shown
    assert f"n{MAX_FILES:03}.py" not in shown


def test_linked_and_ignored_files_are_not_near(tmp_path: Path) -> None:
    (tmp_path / "outside.py").write_text("def hidden_name():\n    return 1\n")
    root = tmp_path / "root"
    root.mkdir()
    (root / "link.py").symlink_to(tmp_path / "outside.py")
    (root / ".dotted.py").write_text("x = 1\n")
    shown = opening(root, None)
    assert "hidden_name" not in shown
    assert "dotted" not in shown
