"""What models are shown of the project around an item: its rules, and callers of what changed."""

from __future__ import annotations

from pathlib import Path

from review_tools.fixture import panel
from symposia.models.review.readers import ReaderModel
from symposia.models.review.runs import ItemKind, ReadItem
from symposia.reviews.chunks.planner import SessionPlanner
from symposia.reviews.chunks.project import Project
from symposia.reviews.sources.source import Ranges, make_item

TEXT = "def total(a):\n    return a\n\n\ndef other():\n    return 1\n"


def opening(folder: Path, changed: Ranges, **more: object) -> str:
    asked = panel("reviewer", **more)
    kind = ItemKind.FILE if changed is None else ItemKind.CHANGE
    read: ReadItem = make_item(TEXT, key="app.py", path="app.py", kind=kind, changed=changed)
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
    assert "shop.py" not in opening(tmp_path, None)


def test_linked_rules_are_not_read(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("hidden words")
    root = tmp_path / "root"
    root.mkdir()
    (root / "AGENTS.md").symlink_to(tmp_path / "secret")
    assert "hidden words" not in opening(root, None)
