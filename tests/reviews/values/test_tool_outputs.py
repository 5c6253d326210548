"""Outputs of programs are read: SARIF, ESLint's and ShellCheck's JSON."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from symposia.reviews.values.answers import parse_reviewer_answer
from symposia.reviews.values.tool_outputs import read_tool_output

SARIF = {
    "version": "2.1.0",
    "runs": [
        {
            "tool": {
                "driver": {
                    "name": "x",
                    "rules": [
                        {"id": "R1", "properties": {"security-severity": "9.1"}},
                        {
                            "id": "R2",
                            "defaultConfiguration": {"level": "note"},
                            "messageStrings": {"m": {"text": "{0} is unused"}},
                        },
                    ],
                }
            },
            "results": [
                {
                    "ruleId": "R1",
                    "level": "warning",
                    "message": {"text": "A key."},
                    "locations": [
                        {"physicalLocation": {"region": {"startLine": 3, "endLine": 4, "startColumn": 5}}}
                    ],
                },
                {"ruleIndex": 1, "message": {"id": "m", "arguments": ["os"]}},
                {"ruleId": "R3/part", "level": "error", "message": {"text": "Bad."}},
                {"ruleId": "R4", "message": {"text": "Known."}, "suppressions": [{"kind": "inSource"}]},
            ],
        }
    ],
}
ESLINT = [
    {
        "filePath": "/x/a.js",
        "messages": [
            {
                "ruleId": "no-eval",
                "severity": 2,
                "message": "`eval` can be harmful.",
                "line": 2,
                "endLine": 2,
            },
            {"ruleId": None, "fatal": True, "severity": 2, "message": "Parsing error", "line": 1},
        ],
    }
]
SHELLCHECK = {"file": "a.sh", "line": 3, "endLine": 3, "column": 1, "level": "warning", "code": 2086}
SHELLCHECK["message"] = "Double quote to prevent globbing."


def found(data: object) -> list[tuple[str, int, str, str]]:
    answer = parse_reviewer_answer(json.dumps(data), path="a", agent="tool")
    return [(it.rule, it.start_line, it.severity.value, it.message) for it in answer.findings]


def test_sarif_results_are_findings():
    assert found(SARIF) == [
        ("R1", 3, "critical", "A key."),
        ("R2", 0, "low", "os is unused"),
        ("R3/part", 0, "high", "Bad."),
    ]


def test_eslint_messages_are_findings():
    assert found(ESLINT) == [
        ("no-eval", 2, "medium", "`eval` can be harmful."),
        ("syntax", 1, "high", "Parsing error"),
    ]


@pytest.mark.parametrize("data", [[SHELLCHECK], {"comments": [SHELLCHECK]}])
def test_shellcheck_comments_are_findings(data):
    assert found(data) == [("SC2086", 3, "medium", "Double quote to prevent globbing.")]


@pytest.mark.parametrize("data", [{"comments": []}, {"version": "2.1.0", "runs": []}])
def test_output_without_problems_has_no_findings(data):
    assert read_tool_output(data) == []


@pytest.mark.parametrize("data", [{"findings": []}, [], [{"line": 1, "message": "x"}], "x", None, 3])
def test_other_forms_are_left_to_the_reader_of_answers(data):
    assert read_tool_output(data) is None


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    *("runs", "tool", "driver", "rules", "results", "ruleId", "ruleIndex", "message", "text"),
                    *("locations", "physicalLocation", "region", "startLine", "fixes", "level", "code"),
                    *("comments", "filePath", "messages", "severity", "properties", "id", "arguments"),
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=20,
)


@given(_JSON)
def test_any_json_is_read_without_an_error(data: object) -> None:
    read_tool_output(data)
    read_tool_output({"runs": data if isinstance(data, list) else [data]})
