"""Documents reviewed by rules: what they find, where, and what they leave alone."""

from __future__ import annotations

import json

import pytest

from symposia.agents.reviewers.code import fence_text
from symposia.agents.reviewers.documents import LONG_SENTENCE, clarity, consistency, facts
from symposia.models.protocol.dialog import Message, Role


@pytest.fixture
def found(turn):
    def found(agent, text):
        opening = Message(role=Role.USER, content=fence_text(text, "markdown"))
        said = agent(turn(messages=[opening]))
        return [(it["line"], it["rule"]) for it in json.loads(said)["findings"]]

    return found


@pytest.mark.parametrize(
    ("agent", "text", "expected"),
    [
        (clarity, "All is well.\n\nIt is is not.\n", [(3, "doubled-word")]),
        (clarity, "One\nline of the\nthe other.", [(2, "doubled-word")]),
        (clarity, "He had had enough.\n", []),
        (clarity, "Short.\n\n" + "one two " * LONG_SENTENCE + "end.\n", [(3, "long-sentence")]),
        (clarity, "- TODO: write this\n", [(1, "unfinished")]),
        (clarity, "```\nTODO the the\n```\n\n`the the`\n", []),
        (clarity, "one two " * 5 + "\n\n" + ("Some words here. " * 90), [(3, "long-paragraph")]),
        (consistency, "The colour of it.\nColor and color.\n", [(1, "two-spellings")]),
        (consistency, "Your e-mail. An email, and an email.\n", [(1, "two-spellings")]),
        (consistency, "four times for your hour and the floor\n", []),
        (consistency, "# One\n\n### Three\n", [(3, "skipped-level")]),
        (facts, "On 2023-02-29 it began; on 2024-02-29 it ended.\n", [(1, "no-such-date")]),
        (facts, "# Big words\n\n[a](#big-words) [b](#no-words)\n", [(3, "dead-link")]),
        (facts, "See [this][one] and [that][two].\n\n[one]: http://localhost\n", [(1, "dead-link")]),
    ],
)
def test_document_findings_have_their_lines(found, agent, text, expected):
    assert found(agent, text) == expected


def test_reviewer_passes_without_a_document(turn, message):
    assert clarity(turn(messages=[Message(role=Role.USER, content="Have you begun?")])) is None
    assert clarity(turn(messages=[message("bob", fence_text("the the"))])) is None
