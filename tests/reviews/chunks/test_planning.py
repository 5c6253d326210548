"""Plans of sessions: the tools of a path review the whole item, and models review its chunks."""

from __future__ import annotations

import pytest

from review_tools.fixture import panel, read
from symposia.models.sessions.known_agents import ReaderModel
from symposia.reviews.chunks.planner import SessionPlanner, panel_of_part
from symposia.reviews.values.tool_settings import ToolSettings

LARGE = "".join(f"def number_{n}():\n    return {n}\n\n\n" for n in range(500))
READERS = {"reviewer": ReaderModel(context_tokens=2_000)}
CODE = panel(
    mode="orchestrated",
    seats=[{"name": "judge", "agent": "judge", "role": "orchestrator"}, {"name": "reviewer", "model": True}],
    tools=[{"agent": "ruff", "files": ["*.py"]}],
).with_model("coder")


def seats_of_sessions(path: str, text: str) -> list[list[str]]:
    """Names of the seats of each session of an item."""
    plan = SessionPlanner(CODE, READERS).plan(read(path, text))
    panels = [panel_of_part(CODE.for_path(path), READERS, it.item.part) for it in plan.sessions]
    return [[seat.name for seat in it.seats] for it in panels]


def test_tools_review_a_large_item_once() -> None:
    programs, *models = seats_of_sessions("a.py", LARGE)
    assert programs == ["judge", "ruff"]
    assert len(models) > 5
    assert models == [["judge", "reviewer"]] * len(models)


def test_item_without_a_tool_has_sessions_of_models_only() -> None:
    sessions = seats_of_sessions("a.go", LARGE)
    assert sessions == [["judge", "reviewer"]] * len(sessions)


def test_small_item_has_one_session_with_its_tools() -> None:
    assert seats_of_sessions("a.py", "x = 1\n") == [["judge", "ruff", "reviewer"]]


@pytest.mark.parametrize("text", ["x = 1\n", LARGE], ids=["small", "large"])
def test_settings_are_part_of_each_planned_item(text: str) -> None:
    settings = ToolSettings(ruff={"ruff.toml": {"lint": {"select": ["E"]}}})
    plain = SessionPlanner(CODE, READERS).plan(read("a.py", text))
    plan = SessionPlanner(CODE, READERS, settings=settings).plan(read("a.py", text))
    assert plain.item.settings_sha == ""
    assert {it.item.settings_sha for it in plan.sessions} == {plan.item.settings_sha} != {""}
    assert plan.item.shown == plain.item.shown
