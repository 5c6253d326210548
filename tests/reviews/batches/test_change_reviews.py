"""Reviews of changes by a model at a recording endpoint: removed lines, deleted files, and what is reviewed again."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from live import result_of, until
from review_tools.fixture import AGENTS, ReviewInstallation, panel
from review_tools.git_tree import GitTree
from servers.model_stub import StubModel, completion
from symposia.reviews.requests.files import request_for_root
from symposia.reviews.sources.files import FileSelection
from symposia.reviews.values.coverage import coverage_of
from symposia.reviews.values.findings import Category, Side
from symposia.reviews.values.runs import ItemKind, ItemState, ReviewRun

pytestmark = [pytest.mark.leaves_keys, pytest.mark.timeout(180)]

MODEL = """
[models.house]
model = "stub-model"
base_url = "{url}"
context_tokens = 32000
stream = false

[agents.coder]
kind = "llm"
model = "house"
"""
USERS = """def delete_user(request, user_id):
    if not request.user.is_admin:
        raise PermissionError("admins only")
    db.execute("DELETE FROM users WHERE id = ?", (user_id,))
"""
PANEL = panel(
    mode="orchestrated",
    seats=[{"name": "judge", "agent": "judge", "role": "orchestrator"}, {"name": "reviewer", "model": True}],
    tools=[{"agent": "finds", "files": ["*.py"]}],
    stop={"max_rounds": 2},
    read_files=3,
).with_model("coder")


@pytest.fixture
def installation(tmp_path: Path, redis_url: str, model: StubModel) -> Iterator[ReviewInstallation]:
    (tmp_path / "agents.toml").write_text(AGENTS + MODEL.format(url=model.url))
    installation = ReviewInstallation(tmp_path, redis_url, archive=True, lease_s=30)
    installation.start_worker()
    workers = installation.client._installation.reviews.workers
    until(lambda: "coder" in workers.reader_models(), what="the worker announces its model")
    yield installation
    installation.close()


@pytest.fixture
def tree(tmp_path: Path) -> GitTree:
    """A branch that removes a check, deletes one file and renames another."""
    tree = GitTree(tmp_path / "root")
    tree.put("app/users.py", USERS)
    tree.put(
        "app/views.py",
        "from app.users import delete_user\n\n\ndef view(request):\n    delete_user(request, 1)\n",
    )
    tree.put("app/old.py", "def limit(rows):\n    return rows[:100]\n")
    tree.put("app/moved.py", "def kept():\n    return 'the same text as before'\n")
    tree.commit()
    tree.git("switch", "--quiet", "--create", "topic")
    tree.put("app/users.py", "".join(line for line in USERS.splitlines(keepends=True) if "admin" not in line))
    tree.git("rm", "--quiet", "app/old.py")
    tree.git("mv", "app/moved.py", "app/new_name.py")
    tree.put("app/added.py", "def added():\n    return 1\n")
    tree.git("add", ".")
    tree.git("commit", "--quiet", "--message", "Simplify deletion\n\nThe caller checks.")
    return tree


def review(installation: ReviewInstallation, tree: GitTree) -> ReviewRun:
    order = request_for_root(
        tree.folder, PANEL, FileSelection(base="main"), name="test", branch="topic", archive=None
    )
    change = order.change.model_copy(
        update={"title": "Delete users faster", "description": "```python changed\n"}
    )
    more = {"folder": tree.folder, "change": change}
    return result_of(installation.review(PANEL, order.source, **more), timeout_s=60)


def answer(*findings: dict[str, Any]):
    return completion(json.dumps({"findings": findings, "summary": "looked"}))


def finding(file: str, line: int, quote: str, **more: Any) -> dict[str, Any]:
    fields = {
        "kind": "removed-check",
        "severity": "high",
        "confidence": 0.9,
        "title": "It is gone.",
        "why": "Bad.",
    }
    return {"file": file, "line": line, "quote": quote, **fields, **more}


CHECK = "    if not request.user.is_admin:"


def test_removed_lines_are_shown_and_found(installation: ReviewInstallation, model: StubModel, tree: GitTree):
    model.answers(
        answer(
            finding("app/users.py", 2, CHECK, side="old", end_line=3, replacement="x"),
            finding("old.py", 2, "    return rows[:100]", kind="resource", assumes="It was used."),
            finding("app/added.py", 2, "    return 1", kind="wrong-result", side="new"),
            finding("app/elsewhere.py", 1, "    return 1"),
        )
    )
    run = review(installation, tree)
    assert run.state.value == "completed", [result.error for result in run.results]
    shown = {finding.path: finding for finding in run.findings if finding.agents == ("reviewer",)}
    users, old, added = (shown[path] for path in ("app/users.py", "app/old.py", "app/added.py"))
    assert (users.side, users.start_line, users.end_line, users.replacement) == (Side.LEFT, 2, 3, None)
    assert (users.category, users.rule, users.quote) == (Category.REMOVED_CHECK, "removed-check", CHECK)
    assert users.excerpt.lines[1] == CHECK
    assert (old.side, old.category, old.why) == (Side.LEFT, Category.RESOURCE, "Bad.\nAssumed: It was used.")
    assert (added.side, added.category) == (Side.RIGHT, Category.WRONG_RESULT)
    assert len(shown) == 3
    (asked,) = model.asked
    (_, system), (_, task), *_ = asked.messages
    assert "removed-check" in system
    for text in (
        "Title: Delete users faster",
        "- Simplify deletion\n  The caller checks.",
        '"app/old.py", deleted\n',
        '"app/new_name.py", renamed from app/moved.py, no line changed\n',
        '"app/added.py", new\n',
        f"2   - {CHECK}\n",
        "app/views.py:5: delete_user(request, 1)",
    ):
        assert text in task
    kinds = {result.item.path: result.item.kind for result in run.results}
    assert kinds["app/old.py"] is ItemKind.DELETED
    assert kinds["app/new_name.py"] is ItemKind.RENAMED
    assert "app/old.py" not in installation.calls(), "programs read present files only"


def test_files_over_the_limit_of_sessions_are_not_done(
    installation: ReviewInstallation, tree: GitTree, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(
        "symposia.reviews.batches.start.MAX_ITEMS", 3
    )  # one session for each file of a program
    run = review(installation, tree)
    assert {item.path for item in run.skipped} == {"app/old.py"}, "no program reads it"
    assert {(result.item.path, result.state, result.error) for result in run.results} == {
        (path, ItemState.FAILED, "1 part not reviewed: over a limit")
        for path in ("app/added.py", "app/new_name.py", "app/users.py")
    }
    assert coverage_of(run).total == 4, "each file counts once"


@pytest.mark.long
def test_next_push_shows_only_what_changed(installation: ReviewInstallation, model: StubModel, tree: GitTree):
    model.answers(answer())
    review(installation, tree)
    tree.put("app/added.py", "def added():\n    return 2\n")
    run = review(installation, tree)
    assert len(model.asked) == 2
    task = model.asked[1].messages[1][1]
    assert "return 2" in task
    assert CHECK not in task
    assert "- app/users.py, modified" in task, "the list has every file of the change"
    states = {result.item.path: result.state for result in run.results}
    assert states.pop("app/added.py") is ItemState.DONE
    assert set(states.values()) == {ItemState.UNCHANGED}


@pytest.mark.long
def test_answer_of_a_bad_form_is_given_again(
    installation: ReviewInstallation, model: StubModel, tree: GitTree
):
    model.answers(
        answer(finding("app/users.py", 2, "if not user.is_admin:")), answer(finding("app/users.py", 2, CHECK))
    )
    run = review(installation, tree)
    assert [finding.quote for finding in run.findings if "reviewer" in finding.agents] == [CHECK]
    assert len(model.asked) == 2
    assert "findings[0].quote is not a line of the reviewed text" in model.asked[1].messages[-1][1]
