"""Model reviewers read files of the reviewed project, within limits; what they read is part of the cache."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from live import result_of, until
from review_tools.fixture import AGENTS, ReviewInstallation, panel, read
from servers.model_stub import Asked, StubModel, completion
from symposia.reviews.values.runs import ItemState, ReviewRun

pytestmark = pytest.mark.leaves_keys

MODEL = """
[models.house]
model = "stub-model"
base_url = "{url}"
stream = false

[agents.coder]
kind = "llm"
model = "house"
"""
ANSWER = completion(json.dumps({"findings": [], "summary": "looked"}))


@pytest.fixture
def installation(tmp_path: Path, redis_url: str, model: StubModel) -> Iterator[ReviewInstallation]:
    installation = ReviewInstallation(
        tmp_path, redis_url, archive=True, lease_s=30
    )  # no turn is repeated under load
    (installation.folder / "agents.toml").write_text(AGENTS + MODEL.format(url=model.url))
    installation.start_worker()
    workers = installation.client._installation.reviews.workers
    until(lambda: "coder" in workers.reader_models(), what="the worker announces its model")
    yield installation
    installation.close()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    root.mkdir()
    (root / "a.py").write_text("import b\n")
    (root / "b.py").write_text("SECOND = 2\n")
    (tmp_path / "secret.py").write_text("HIDDEN = 1\n")
    (root / "link.py").symlink_to(tmp_path / "secret.py")
    return root


def review(installation: ReviewInstallation, project: Path, read_files: int = 3) -> ReviewRun:
    asked = panel(seats=[{"name": "reviewer", "model": True}], read_files=read_files).with_model("coder")
    return result_of(installation.review(asked, [read("a.py", "import b\n")], folder=project), timeout_s=60)


def call(path: str, number: int = 1):
    return completion(tool=("read_file", {"path": path}), call=f"call-{number}")


def tool_answers(asked: Asked) -> list[Any]:
    return [it["content"] for it in asked.body["messages"] if it["role"] == "tool"]


def test_read_file_is_shown_and_decides_what_is_unchanged(
    installation: ReviewInstallation, model: StubModel, project: Path
):
    model.answers(call("b.py"), ANSWER)
    (result,) = review(installation, project).results
    assert result.state is ItemState.DONE
    assert tool_answers(model.asked[1]) == ["1: SECOND = 2\n"]
    assert [path for path, _ in result.reads] == ["b.py"]
    assert review(installation, project).results[0].state is ItemState.UNCHANGED
    (project / "c.py").write_text("x = 1\n")  # on the map, which is no reason to review again
    count = len(model.asked)
    assert review(installation, project).results[0].state is ItemState.UNCHANGED
    assert len(model.asked) == count


@pytest.mark.long
def test_changed_file_that_was_read_is_read_again(
    installation: ReviewInstallation, model: StubModel, project: Path
):
    (project / "far").mkdir()
    (project / "far" / "d.py").write_text("x = 1\n")
    model.answers(call("far/d.py"), ANSWER)
    review(installation, project)
    count = len(model.asked)
    (project / "far" / "other.py").write_text("x = 1\n")
    assert review(installation, project).results[0].state is ItemState.UNCHANGED
    assert len(model.asked) == count
    (project / "far" / "d.py").write_text("x = 2\n")
    model.answers(call("far/d.py"), ANSWER)
    assert review(installation, project).results[0].state is ItemState.DONE
    assert tool_answers(model.asked[-1]) == ["1: x = 2\n"]


@pytest.mark.long
def test_nothing_outside_the_project_is_read(
    installation: ReviewInstallation, model: StubModel, project: Path
):
    paths = ["../secret.py", "link.py", str(project / "b.py")]
    model.answers(*(call(path, number) for number, path in enumerate(paths)), ANSWER)
    review(installation, project)
    assert len(model.asked) == 4
    assert set(tool_answers(model.asked[-1])) == {"There is no such file, or it cannot be read."}


@pytest.mark.long
def test_reads_of_a_turn_are_limited(installation: ReviewInstallation, model: StubModel, project: Path):
    (project / "long.py").write_text("".join(f"x{number} = 1\n" for number in range(3_000)))
    model.answers(call("long.py", 1), call("b.py", 2), ANSWER)
    review(installation, project, read_files=1)
    first, second = tool_answers(model.asked[-1])
    assert len(first.encode()) < 8_300
    assert "The file has 3000 lines: read on from line" in first
    assert "At most 1 reads are allowed" in second


@pytest.mark.long
def test_panels_without_the_setting_have_no_tool(
    installation: ReviewInstallation, model: StubModel, project: Path
):
    model.answers(ANSWER)
    review(installation, project, read_files=0)
    assert not model.asked[0].body.get("tools")
