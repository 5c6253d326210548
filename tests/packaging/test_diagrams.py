"""The diagrams of the documentation: current, accessible, complete in themselves, and true to the names of the code."""

from __future__ import annotations

import re
import runpy
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any, get_args

import pytest

from symposia.models.protocol.events import MAPEventType
from symposia.state.sessions.turn_records import TurnRecord
from symposia.tasks.runtime import graph
from symposia.tasks.runtime.runtime import Boundary

ROOT = Path(__file__).parents[2]
SOURCES = sorted((ROOT / ".ci" / "diagrams").glob("*.txt"))
PICTURES = sorted((ROOT / "docs").glob("*/*.png"))
PAGE = (ROOT / "docs" / "turn-protocol.md").read_text()
SCRIPTS = {
    f"{path.parent.name}/{path.stem}": path.read_text()
    for path in (ROOT / "state" / "lua").glob("*/*.lua")
    if path.parent.name != "lib"
}
STATES = set(get_args(TurnRecord.model_fields["status"].annotation))
NAMES = {*SCRIPTS, *STATES, *MAPEventType, graph.TURN, graph.ADVANCE}
#: A message of a sequence and the answer of its script.
CALL = re.compile(r"(?P<caller>[\w ]+) -> Redis: `(?P<script>[\w/]+)`")
ANSWER = re.compile(r"Redis --> (?P<caller>[\w ]+): `(?P<answer>\w+)`")


@pytest.fixture(scope="module")
def render() -> Any:
    return runpy.run_path(str(ROOT / ".ci" / "diagrams" / "draw.py"))["render"]


def answers(script: str) -> set[str]:
    """The answers that the header of a script names."""
    found = re.search(r"^--- ANSWERS: (.+)$", SCRIPTS[script], re.MULTILINE)
    assert found is not None
    return {word.partition("(")[0] for word in re.sub(r"\(.*?\)", "", found[1]).split()}


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem)
def test_diagram_is_current(source: Path, render: Any) -> None:
    drawn = (ROOT / "docs" / "diagrams" / f"{source.stem}.svg").read_text()
    assert drawn == render(source.read_text()), "run `make diagrams`"


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem)
def test_diagram_is_accessible_and_loads_nothing(source: Path, render: Any) -> None:
    text = render(source.read_text())
    root = ET.fromstring(text)  # noqa: S314 - written just now
    title, description = list(root)[:2]
    assert (title.tag.rpartition("}")[2], description.tag.rpartition("}")[2]) == ("title", "desc")
    assert title.text
    assert description.text
    assert root.get("role") == "img"
    assert root.get("aria-labelledby") == f"{title.get('id')} {description.get('id')}"
    assert "prefers-color-scheme:dark" in text
    assert re.findall(r"<script|<image|href|@import|@font-face|url\((?!#)", text) == []


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem)
def test_names_in_diagrams_exist(source: Path) -> None:
    called: dict[str, str] = {}
    for line in source.read_text().splitlines():
        if found := ANSWER.match(line):
            assert found["answer"] in answers(called[found["caller"]]), line
            continue
        assert set(re.findall(r"`(.+?)`", line)) <= NAMES, line
        if found := CALL.match(line):
            called[found["caller"]] = found["script"]


def test_states_of_a_turn_are_complete() -> None:
    lines = (ROOT / ".ci" / "diagrams" / "states.txt").read_text().splitlines()
    assert {line.partition("`")[2].rstrip("`") for line in lines if line.startswith("state ")} == STATES


@pytest.mark.parametrize("label", ["too long to be between two columns", "`such/a_long_name_of_script`"])
def test_label_without_room_is_refused(label: str, render: Any) -> None:
    with pytest.raises(ValueError, match="pixels"):
        render(f"Title\nDescription\ncolumns: a | b\na -> b: {label}\n")


def test_unknown_line_is_refused(render: Any) -> None:
    with pytest.raises(ValueError, match="unknown line: 'a => b'"):
        render("Title\nDescription\ncolumns: a | b\na => b\n")


def test_page_shows_every_diagram() -> None:
    shown = re.findall(r"!\[[^\]]{20,}\]\(diagrams/(\w+)\.svg\)", PAGE)
    assert sorted(shown) == [source.stem for source in SOURCES]


def test_names_on_the_page_exist() -> None:
    named = set(re.findall(r"`([a-z_]+/[a-z_]+)`", PAGE))
    assert named >= {"turns/begin", "sessions/sweep"}
    assert named <= set(SCRIPTS)
    assert set(re.findall(r"`(MAP\w+)`", PAGE)) <= set(MAPEventType)


def test_page_explains_every_answer_crash_point_and_state() -> None:
    rows = re.findall(r"^\| (`[^|]+) \|", PAGE, re.MULTILINE)
    first = {name for row in rows for name in re.findall(r"`([^`]+)`", row)}
    assert first >= answers("turns/begin") | set(Boundary) | STATES


@pytest.mark.parametrize("picture", PICTURES, ids=lambda path: path.stem)
def test_pictures_are_small(picture: Path) -> None:
    assert picture.stat().st_size < 200_000
