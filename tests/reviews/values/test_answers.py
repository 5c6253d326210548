"""What is taken from the words of a reviewer: everything that is a finding, and nothing that is none."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from symposia.models.severity import Severity
from symposia.reviews.values.answers import MAX_FINDINGS, MAX_SUMMARY, ReviewerAnswer, parse_reviewer_answer

ENTRY = {
    "path": "app.py",
    "line": 3,
    "end_line": 4,
    "rule": "S105",
    "severity": "high",
    "message": "A key stands in the code.",
    "suggestion": "Take it from the environment.",
    "confidence": 0.8,
}


def read(text: str) -> ReviewerAnswer:
    return parse_reviewer_answer(text, path="app.py", agent="reviewer")


def read_one(**changes: Any) -> Any:
    (finding,) = read(json.dumps({"findings": [ENTRY | changes]})).findings
    return finding


def test_finding_keeps_all_of_its_fields() -> None:
    said = read(json.dumps({"findings": [ENTRY], "summary": "One key."}))
    (finding,) = said.findings
    assert finding.model_dump(
        mode="json", include={"path", "start_line", "end_line", "rule", "severity"}
    ) == {"path": "app.py", "start_line": 3, "end_line": 4, "rule": "S105", "severity": "high"}
    assert (finding.message, finding.suggestion) == (ENTRY["message"], ENTRY["suggestion"])
    assert (finding.agents, finding.confidence) == (("reviewer",), 0.8)
    assert (said.summary, said.left_out) == ("One key.", 0)


@pytest.mark.parametrize(
    "text",
    [
        json.dumps({"findings": [ENTRY]}),
        json.dumps([ENTRY]),
        f"\n\n  {json.dumps({'findings': [ENTRY]}, indent=1)}\n",
        f"Here it is:\n```json\n{json.dumps({'findings': [ENTRY]})}\n```\nBye.",
        f"```JSON\n{json.dumps([ENTRY])}\n```",
        f"```\n{json.dumps({'findings': [ENTRY]})}\n```",
        f"```python\nx = 1\n```\n```json\n{json.dumps({'findings': [ENTRY]})}\n```",
        f"```json\n{{broken\n```\n```json\n{json.dumps({'findings': [ENTRY]})}\n```",
        f"Here is my review:\n{json.dumps({'findings': [ENTRY]})}",
        f'Not {{"a": 1}} but {json.dumps({"findings": [ENTRY | {"message": "{} is wrong"}]}, indent=1)} I think.',
    ],
)
def test_findings_object_is_found_in_any_model_answer(text: str) -> None:
    assert [it.rule for it in read(text).findings] == ["S105"]


@pytest.mark.parametrize("text", ["It looks fine to me.", "", "{", "[1]", '{"a": 1}', "null", "[" * 100_000])
def test_words_without_an_object_are_the_summary(text: str) -> None:
    said = read(text)
    assert said.findings == ()
    assert said.summary == text.strip()[: MAX_SUMMARY - 1] or said.summary.endswith("…")


def test_text_around_a_block_becomes_the_summary() -> None:
    said = read('I looked at it.\n```json\n{"findings": []}\n```')
    assert said == ReviewerAnswer((), "I looked at it.", has_findings_list=True)


@pytest.mark.parametrize(
    ("text", "has_list"),
    [
        ('{"findings": []}', True),
        ("[]", True),
        ('So: {"findings": []}', True),
        ("Fine.", False),
        ('{"summary": "Fine."}', False),
        ('{"findings": null}', False),
        ('{"findings": [{"line": 1, "message": "It div', False),
        ('{"findings": [{"line": 1, "message": "a"}, {"li', False),
        ("The list [] is empty.", False),
    ],
)
def test_answer_without_a_findings_list_is_known(text: str, has_list: bool) -> None:
    assert read(text).has_findings_list is has_list


@pytest.mark.parametrize(
    ("told", "lines"),
    [
        ({"line": 7}, (7, 7)),
        ({"line": "7"}, (7, 7)),
        ({"line": "7-9"}, (7, 9)),
        ({"start_line": 7, "end_line": 9}, (7, 9)),
        ({"startLine": 7, "endLine": 9}, (7, 9)),
        ({"line": 7, "end_line": 3}, (7, 7)),
        ({"line": 7.0}, (7, 7)),
        ({"line": -7}, (0, 0)),
        ({"line": True}, (0, 0)),
        ({"line": None}, (0, 0)),
        ({"line": 10**30}, (0, 0)),
        ({"line": "somewhere"}, (0, 0)),
        ({}, (0, 0)),
    ],
)
def test_lines_are_read_as_models_write_them(told: dict[str, Any], lines: tuple[int, int]) -> None:
    entry = {"message": "m", **told}
    (finding,) = read(json.dumps({"findings": [entry]})).findings
    assert (finding.start_line, finding.end_line) == lines


@pytest.mark.parametrize(
    ("word", "severity"),
    [
        ("HIGH", "high"),
        ("Error", "high"),
        ("warning", "medium"),
        ("minor", "low"),
        (" note ", "info"),
        (9, "medium"),
    ],
)
def test_severities_are_read_as_models_name_them(word: object, severity: str) -> None:
    assert read_one(severity=word).severity is Severity(severity)


@pytest.mark.parametrize(
    ("told", "confidence"),
    [
        (0, 0),
        (1, 1),
        (0.25, 0.25),
        (80, 0.8),
        ("80%", 0.8),
        ("1%", 0.01),
        ("0.5 %", 0.005),
        ("100%", 1),
        ("80", 0.8),
        ("high", 0.9),
        ("sure", 0.5),
        (-3, 0),
        (True, 0.5),
    ],
)
def test_confidence_is_converted_to_a_share(told: object, confidence: float) -> None:
    assert read_one(confidence=told).confidence == pytest.approx(confidence)


def test_finding_path_is_always_the_item() -> None:
    assert read_one(path="/etc/passwd").path == "app.py"


def test_unusable_findings_are_left_out_and_counted() -> None:
    said = read(json.dumps({"findings": [ENTRY, {"line": 1}, "x", None, ENTRY | {"message": " \x00 "}]}))
    assert (len(said.findings), said.left_out) == (1, 4)


def test_most_severe_findings_of_a_message_are_kept() -> None:
    low, high = ENTRY | {"severity": "low"}, ENTRY | {"severity": "high", "line": 9}
    said = read(json.dumps({"findings": [low] * MAX_FINDINGS + [high, "x"], "left_out": 5}))
    assert [it.start_line for it in said.findings] == [3] * (MAX_FINDINGS - 1) + [9]
    assert said.left_out == 7


@given(st.lists(st.sampled_from(["low", "high", None]), min_size=MAX_FINDINGS, max_size=MAX_FINDINGS + 30))
def test_no_finding_left_out_is_more_severe(severities: list[str | None]) -> None:
    entries = [ENTRY | {"severity": it, "line": n} for n, it in enumerate(severities, start=1)]
    kept = read(json.dumps({"findings": entries})).findings
    lines = [it.start_line for it in kept]
    others = [it["severity"] for it in entries if it["line"] not in lines]
    assert (lines, len(kept)) == (sorted(lines), MAX_FINDINGS)
    assert "high" not in others or all(it.severity is Severity.HIGH for it in kept)


def test_control_characters_are_removed_from_findings() -> None:
    finding = read_one(message="\x1b[2Jred\r\nnext\u202e", rule="a\nb", suggestion="\x07x\ty")
    assert (finding.message, finding.rule, finding.suggestion) == ("[2Jred\nnext", "a b", "x\ty")


def test_long_texts_are_cut() -> None:
    finding = read_one(message="m" * 100_000, rule="r" * 1_000, suggestion="s" * 100_000)
    assert (len(finding.message), len(finding.rule), len(finding.suggestion)) == (4_000, 200, 8_000)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: (
        st.lists(inner) | st.dictionaries(st.sampled_from([*ENTRY, "findings", "summary", "code"]), inner)
    ),
    max_leaves=20,
)


@given(JSON)
def test_any_json_answer_is_readable(data: object) -> None:
    said = read(json.dumps({"findings": data if isinstance(data, list) else [data]}))
    assert len(said.findings) + said.left_out == (len(data) if isinstance(data, list) else 1)


@given(st.text())
def test_any_text_answer_is_readable(text: str) -> None:
    assert len(read(text).summary) <= MAX_SUMMARY


WORDS = st.text(st.characters(exclude_characters='{}[]"`', exclude_categories=["Cs", "Cc"]))


@given(WORDS, WORDS, st.sampled_from([None, 1]))
def test_findings_between_any_words_are_found(before: str, after: str, indent: int | None) -> None:
    said = read(before + json.dumps({"findings": [ENTRY]}, indent=indent) + after)
    assert (len(said.findings), said.has_findings_list) == (1, True)


@given(st.integers(0, 300))
def test_cut_answer_has_no_findings_list(size: int) -> None:
    whole = json.dumps({"findings": [ENTRY], "summary": "One key."})
    assert not read(whole[: min(size, len(whole) - 1)]).has_findings_list


@pytest.mark.timeout(20)
@pytest.mark.parametrize("part", ['{"a":', "{", '{ "', "{ ", '{"a": 1} '])
def test_long_hostile_answer_is_read_in_time(part: str) -> None:
    assert read("x " + part * 30_000).findings == ()
