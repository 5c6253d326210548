"""The documents with planted flaws: what the programs of the panel `document` find without a model."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from programs import find_program
from symposia.models.protocol.dialog import Message, Role
from symposia.reviews.evaluation.dataset import read_dataset, request_for_dataset
from symposia.reviews.reviewers.code import fence_text
from symposia.reviews.reviewers.documents import clarity, consistency, facts
from symposia.reviews.reviewers.spelling import review_spelling
from symposia.reviews.values.answers import parse_reviewer_answer
from symposia.reviews.values.runs import ReadItem
from symposia.reviews.values.scores import score_findings

SHIPPED = Path(__file__).parents[3] / "examples" / "review_eval_documents"


def spelling(turn):
    return review_spelling(json.loads(turn.model_dump_json()))


@pytest.mark.parametrize(
    ("kind", "agents", "least"),
    [
        ("link", (clarity, consistency, facts), 0.9),
        ("grammar", (clarity, consistency, facts), 0.3),
        ("spelling", (spelling,), 0.8),
    ],
    ids=["link", "grammar", "spelling"],
)
def test_programs_find_planted_flaws(turn, kind, agents, least):
    if kind == "spelling":
        find_program("codespell")
    loaded = read_dataset(SHIPPED)
    findings = []
    for read in request_for_dataset(loaded, panel="document").source:
        assert isinstance(read, ReadItem)
        path = read.item.path
        opening = Message(role=Role.USER, content=fence_text(read.text, "markdown"))
        differences = read.item.facts.model_dump(mode="json") if read.item.facts else {}
        known = {"path": path, "facts": differences}
        for agent in agents:
            answer = agent(turn(messages=[opening], parameters={"review": known}))
            findings += parse_reviewer_answer(answer, path=path, agent="programs").findings
    planted = [defect for defect in loaded.defects if defect.kind == kind]
    assert len(planted) >= 9
    assert (score_findings(loaded.dataset, planted, findings).recall or 0) >= least
    total = score_findings(loaded.dataset, loaded.defects, findings)
    assert (total.precision or 0) >= 0.96, findings


def test_all_documents_are_listed():
    listed = {file.path for file in read_dataset(SHIPPED).dataset.files}
    assert listed == {path.name for path in (SHIPPED / "docs").iterdir()}
