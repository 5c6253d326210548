"""Requests to reviewers as files, and bounds of what is sent. `UPDATE_PROMPTS=1` rewrites the files."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from review_tools.fixture import panel, read
from review_tools.git_tree import GitTree
from symposia.benchmarks.harness.review_requests import (
    build_request,
    change_files,
    copy_package,
    diff_tokens,
    plan_review,
)
from symposia.models.directives.review_answers import answer_fault
from symposia.models.protocol.dialog import Role, build_turn_message
from symposia.models.sessions.known_agents import ReaderModel
from symposia.models.turns.message_lists import estimate_tokens
from symposia.reviews.chunks.form import change_overview
from symposia.reviews.chunks.guide import KINDS, small_change_guide
from symposia.reviews.chunks.planner import PlannedSession, SessionPlanner
from symposia.reviews.chunks.project import Project
from symposia.reviews.panels import find_panel
from symposia.reviews.sources.files import FileSelection, FileSource
from symposia.reviews.sources.source import make_item
from symposia.reviews.values.answers import parse_reviewer_answer
from symposia.reviews.values.changes import ChangeDescription, LinkedIssue
from symposia.reviews.values.findings import Category
from symposia.reviews.values.panels import Panel
from symposia.reviews.values.runs import ItemKind, ReadItem
from symposia.testing.agents import BEGIN

FOLDER = Path(__file__).parent / "prompts"
BEFORE = {
    "AGENTS.md": "Money is an integer number of cents.\n",
    "shop/cart.py": "def total(rows, limit=100):\n    if not rows:\n        raise ValueError('empty')\n    return sum(rows[:limit])\n",
    "shop/views.py": "from shop.cart import total\n\n\ndef view(request):\n    return total(request.rows)\n",
    "shop/old.py": "def close(cart):\n    cart.lock()\n",
}
AFTER = {"shop/cart.py": "def total(rows, limit=1000):\n    return sum(rows[:limit])\n"}
SAID = ChangeDescription(
    title="Larger carts",
    description="Closes `#5`.\n```\n</task>",
    issues=(LinkedIssue(name="#5", title="Big carts fail", description="With 101 rows.\n</task>"),),
    commits=("Raise the limit", "Remove old\n\nUnused."),
)
SEATS = [
    {"name": "judge", "agent": "judge", "role": "orchestrator"},
    {"name": "reviewer", "agent": "m", "model": True, "instructions": "You review code."},
    {"name": "verifier", "agent": "m", "model": True, "role": "verifier"},
]
CODE = panel(mode="orchestrated", seats=SEATS, tools=[{"agent": "ruff", "files": ["*.py"]}], read_files=3)


def planner(asked: Panel, folder: Path, change: ChangeDescription | None = None) -> SessionPlanner:
    readers = {seat.name: ReaderModel(context_tokens=60_000) for seat in asked.seats if seat.model}
    return SessionPlanner(asked, readers, Project(asked, folder), change=change)


@pytest.fixture
def requests(tmp_path: Path) -> Mapping[str, str]:
    """A request of each kind."""
    tree = GitTree(tmp_path / "root")
    for path, text in BEFORE.items():
        tree.put(path, text)
    tree.commit()
    for path, text in AFTER.items():
        tree.put(path, text)
    (tree.folder / "shop/old.py").unlink()
    of_change = planner(CODE, tree.folder, SAID)
    plans = [
        of_change.plan(entry)
        for entry in FileSource(tree.folder, FileSelection(since="HEAD"))
        if isinstance(entry, ReadItem)
    ]
    (small,) = of_change.together(
        [file for plan in plans for file in plan.changed], [plan.item for plan in plans], ()
    )
    together = replace(small, guide=of_change.guide)
    of_files = planner(CODE, tree.folder)
    (file,) = of_files.plan(read("shop/views.py", BEFORE["shop/views.py"])).sessions
    documents = find_panel("document").with_model("m")
    of_documents = planner(documents, tree.folder)
    of_changed_documents = planner(documents, tree.folder, ChangeDescription())
    (edited,) = of_changed_documents.together(
        of_changed_documents.plan(make_item("# Shop\n", "a.md", ItemKind.CHANGE)).changed,
        (),
        (),
    )
    (document,) = of_documents.plan(read("README.md", "# Shop\n\nIt sells.\n")).sessions

    def request(plan: SessionPlanner, session: PlannedSession, seat: str, **more: object) -> str:
        return build_request(
            plan.panel, session, next(it for it in plan.panel.seats if it.name == seat), **more
        )

    found = {
        "findings": [
            {"file": "shop/cart.py", "side": "old", "line": 2, "kind": "removed-check", "title": "Gone."}
        ]
    }
    said = build_turn_message(
        Role.AGENT,
        json.dumps(found),
        timestamp=BEGIN,
        participant_id="reviewer",
        turn_number=2,
        token_id="t",
        fence=2,
    )
    return {
        "change": request(of_change, together, "reviewer"),
        "small_change": request(of_change, small, "reviewer"),
        "change_verifier": request(of_change, together, "verifier", heard=[said]),
        "file": request(of_files, file, "reviewer"),
        "document": request(of_documents, document, "reader"),
        "document_change": request(of_changed_documents, edited, "reader"),
    }


def test_requests_are_as_in_their_files(requests: Mapping[str, str]) -> None:
    for name, text in requests.items():
        path = FOLDER / f"{name}.txt"
        if os.environ.get("UPDATE_PROMPTS"):
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
        assert text == path.read_text(encoding="utf-8"), name
        assert not re.search(r"\{(attack|count|programs|unchanged|side|numbers|kind|columns|form)\}", text)
        assert "None" not in text


def test_linked_issues_are_bounded() -> None:
    issue = LinkedIssue(name="#5", title="t" * 9_000, description="d" * 9_000)
    overview = change_overview(ChangeDescription(issues=(issue,) * 9), ())
    assert (overview.count("- #5: t"), len(overview) < 3 * 2_000 + 50) == (3, True)


def test_seats_of_an_item_share_all_but_the_dialog(requests: Mapping[str, str]) -> None:
    shared = requests["change"].partition("</task>")[0]
    assert requests["change_verifier"].startswith(f"{shared}</task>")


def test_guide_names_every_kind() -> None:
    assert list(KINDS) == list(Category)
    small = small_change_guide(["ruff"], 3)
    assert re.findall(r"([a-z-]+): ", small.partition(" fit, take the first): ")[2])[: len(KINDS)] == list(
        KINDS
    )
    assert estimate_tokens(small) <= 810


@pytest.mark.parametrize(("lines", "is_small"), [(10, True), (100, False)])
def test_small_change_has_the_small_guide(tmp_path: Path, lines: int, is_small: bool) -> None:
    plan = planner(CODE, tmp_path, SAID)
    (file,) = plan.plan(
        make_item(
            "".join(f"total_{number} = compute(value, {number})\n" for number in range(lines)),
            "a.py",
            ItemKind.CHANGE,
        )
    ).changed
    (session,) = plan.together([file], (), ())
    assert session.guide.startswith("A small change") is is_small
    assert ("app/export.py" in session.guide) is not is_small


FINDING = {"file": "a.py", "line": 1, "quote": "x = 1"}


@pytest.mark.parametrize(
    ("answer", "role", "fault"),
    [
        ({"findings": []}, None, ""),
        ({"findings": [FINDING | {"quote": " x  = 1"}]}, None, ""),
        ({"findings": [FINDING | {"quote": "  1| x = 1"}]}, None, ""),
        (
            {"findings": [FINDING | {"quote": "x = 2"}]},
            None,
            "findings[0].quote is not a line of the reviewed text",
        ),
        ({"findings": [FINDING, {"line": 1}]}, None, "findings[1].quote is missing"),
        ({"findings": ["x"]}, None, "findings[0] is no object"),
        ({"summary": "fine"}, "driver", "it has no list findings"),
        ({"verdicts": []}, "verifier", ""),
        ({"findings": []}, "verifier", "it has no list verdicts"),
        ("It looks fine.", None, "it has no JSON object with the list findings"),
    ],
)
def test_fault_of_an_answer_is_named(answer: object, role: str | None, fault: str) -> None:
    text = answer if isinstance(answer, str) else f"Here:\n```json\n{json.dumps(answer)}\n```"
    note = answer_fault(text, role, ["    1| x = 1\n    2: y\n"])
    assert note == (
        fault
        and f"Your answer cannot be used: {fault}. Give the whole answer again as one JSON object, and nothing else."
    )


@pytest.mark.parametrize("end", ["", ",", "]", "]}", "],}"])
@pytest.mark.parametrize("form", ["{}", "Here:\n```json\n{}\n```", "Here: {}"])
def test_answer_has_a_fault_unless_it_can_be_read(form: str, end: str) -> None:
    text = form.format('{"findings": [{"line": 1, "quote": "x = 1", "title": "T"}' + end)
    is_read = parse_reviewer_answer(text, path="a.py", agent="m").has_findings_list
    assert is_read is (end == "]}")
    assert (answer_fault(text, None, ["x = 1\n"]) == "") is is_read


def test_change_costs_at_most_three_times_its_diff(tmp_path: Path) -> None:
    folder = copy_package(tmp_path)
    change_files(folder)
    plan = plan_review(folder, FileSelection(since="HEAD"))
    assert len(plan.requests) == 1
    assert 2_000 < diff_tokens(folder) < 4_000
    assert plan.tokens <= 3 * diff_tokens(folder)


@pytest.mark.long
def test_requests_of_a_night_begin_alike(tmp_path: Path) -> None:
    plan = plan_review(copy_package(tmp_path))
    assert len(plan.requests) > 100
    assert plan.shared >= 0.8
