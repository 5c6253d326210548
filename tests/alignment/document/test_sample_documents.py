"""Real documents are read as a careful reader reads them.

`sample_facts.json` holds what was counted in them without this parser: for each document its rounds with the
number of experts who speak in each, its markers by type and ids, the state of each tension in its tracker, and
the rows and total of each scoreboard. The documents themselves lie beside the checkout.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from symposia.alignment.document import LintSeverity, fix, lint, parse, render, scan, summary

HERE = Path(__file__).parent
SAMPLES = HERE.parents[2].parent / "shared" / "dialogues"
FACTS = json.loads((HERE / "sample_facts.json").read_text())

pytestmark = pytest.mark.skipif(
    not SAMPLES.is_dir(), reason="the sample dialogues are not beside the checkout"
)
every_document = pytest.mark.parametrize(
    "path", sorted(SAMPLES.rglob("*.md")), ids=lambda path: f"{path.parent.name}/{path.name}"[-60:]
)
every_fact = pytest.mark.parametrize("name", FACTS)


def text_of(path: Path) -> str:
    return path.read_bytes().decode()


def sample(name: str) -> dict:
    return summary(parse(text_of(SAMPLES / "documents" / f"{name}.dialogue.recorded.md")))


@every_fact
def test_rounds_of_samples_match_a_manual_count(name):
    assert [[it["number"], len(it["agents"])] for it in sample(name)["rounds"]] == FACTS[name]["rounds"]


@every_fact
def test_markers_of_samples_match_a_manual_count(name):
    found: dict[str, Counter] = {}
    for marker in sample(name)["markers"]:
        found.setdefault(marker["type"], Counter())[", ".join(marker["ids"])] += 1
    assert found == FACTS[name]["markers"]


@every_fact
def test_tracker_states_are_read_for_tensions(name):
    states = {it["id"]: it["state"] for it in sample(name)["tensions"]}
    assert {key: states.get(key) for key in FACTS[name]["tensions"]} == FACTS[name]["tensions"]


@every_fact
def test_scoreboards_have_their_rows_and_total(name):
    boards = [[len(it["rows"]), it["total"]] for it in sample(name)["scoreboards"]]
    assert boards == FACTS[name]["scoreboards"]


@every_document
def test_real_document_is_read_back_unchanged(path):
    document = parse(text_of(path))
    written = render(document)
    assert parse(written) == document
    assert render(parse(written)) == written


@every_document
def test_lines_of_a_real_document_restore_it_exactly(path):
    assert "".join(line.raw for line in scan(text_of(path))) == text_of(path)


@every_document
def test_fixing_a_real_document_keeps_its_content(path):
    text = text_of(path)
    before, after = summary(parse(text)), summary(parse(fix(text)))
    for marker in before["markers"] + after["markers"]:
        del marker["line"], marker["column"]
    assert after["markers"] == before["markers"]
    assert [(r["number"], r["label"], r["agents"]) for r in after["rounds"]] == [
        (r["number"], r["label"], r["agents"]) for r in before["rounds"]
    ]
    # Experts of one document are quoted by the number of their row alone.
    assert {f.code for f in lint(fix(text))} <= {"score-total", "marker-word", "turn-unread"}


def test_wrong_sum_of_the_samples_is_found():
    errors = {
        path.name: [(f.code, f.line) for f in lint(text_of(path)) if f.severity is LintSeverity.ERROR]
        for path in SAMPLES.rglob("*.md")
    }
    assert {name: found for name, found in errors.items() if found} == {
        "rfc-document-import-sync.dialogue.recorded.md": [("score-total", 43)]
    }
