"""Reports for programs: each format is valid for any text and complete."""

from __future__ import annotations

import json
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given
from jsonschema import Draft4Validator

from review_tools.pulls import on_line
from review_tools.runs import a_reported_run, evil_runs
from review_tools.sarif_subset import faults
from review_tools.values import a_finding, a_result, a_run
from symposia.models.errors import InvalidInput, SessionNotFound
from symposia.models.severity import Severity
from symposia.models.text.ids import new_id
from symposia.reviews.comparing import compare_run
from symposia.reviews.reports.formats import (
    ALIGNMENT,
    HTML,
    JSONL,
    JUNIT,
    MARKDOWN,
    RDJSON,
    SARIF,
    formats,
    render,
    report_files,
)
from symposia.reviews.values.findings import Finding
from symposia.reviews.values.runs import ReviewRun, SkippedItem

VERDICT = "3 to fix: 1 high, 2 medium. Most severe: app.py:9: A key in the code. ruff found 3. model found 1."


def test_reports_have_the_verdicts() -> None:
    run = a_reported_run()
    (told,) = json.loads(render(run, SARIF))["runs"]
    assert told["properties"]["verdict"] == VERDICT
    assert json.loads(render(run, JSONL).partition("\n")[0])["verdict"] == VERDICT
    assert [it.text for it in suites(run)[0].findall("system-out")] == ["Two things.\nMend them."]


# -- SARIF -------------------------------------------------------------------------------------


def test_sarif_is_valid_and_names_place_rule_and_state() -> None:
    log = render(a_reported_run(), SARIF)
    assert faults(log) == []
    (run,) = json.loads(log)["runs"]
    rules = [it["id"] for it in run["tool"]["driver"]["rules"]]
    told = {it["ruleId"]: it for it in run["results"]}
    assert sorted(told) == ["E501", "F401", "S105", "remark"] == rules
    assert all(rules[it["ruleIndex"]] == it["ruleId"] for it in run["results"])
    location = told["S105"]["locations"][0]["physicalLocation"]
    region = {"startLine": 9, "startColumn": 5, "endLine": 9, "endColumn": 16}
    assert location == {"artifactLocation": {"uri": "app.py"}, "region": region}
    assert (told["S105"]["level"], told["S105"]["message"]["text"]) == (
        "error",
        "A key in the code\n\nKeys leak.\n\nMove\nit.",
    )
    assert (told["F401"]["baselineState"], told["S105"]["baselineState"]) == ("unchanged", "new")
    assert [it["kind"] for it in told["E501"]["suppressions"]] == ["external"]
    whole = told["remark"]["locations"][0]["physicalLocation"]
    assert whole == {"artifactLocation": {"uri": "b%20c.py"}, "region": {"startLine": 1}}


def test_sarif_rules_have_what_code_scanning_shows() -> None:
    (run,) = json.loads(render(a_reported_run(), SARIF))["runs"]
    rules = {it["id"]: it for it in run["tool"]["driver"]["rules"]}
    key, unused, remark = rules["S105"], rules["F401"], rules["remark"]
    assert [it["name"] for it in (key, unused, remark)] == [
        "Hardcoded password string",
        "Unused import",
        "Remark",
    ]
    full = "Hardcoded password string. Kind access: authentication, authorisation or secrecy is wrong; a secret is exposed. Rule S105. Reported by ruff."
    assert (key["shortDescription"]["text"], key["fullDescription"]["text"]) == (key["name"], full)
    assert unused["fullDescription"]["text"] == "Unused import. Rule F401. Reported by ruff."
    assert key["defaultConfiguration"] == {"level": "error"}
    assert key["helpUri"] == "https://docs.astral.sh/ruff/rules/#S105"
    assert key["help"]["text"].startswith(f"{full}\n\nCheck who may do this and refuse everyone else")
    assert key["help"]["markdown"].endswith(f"[Documentation of the rule]({key['helpUri']})")
    assert key["properties"] == {
        "precision": "very-high",
        "problem.severity": "error",
        "tags": ["review", "security"],
        "security-severity": "8.0",
    }
    assert "security-severity" not in unused["properties"]
    assert "helpUri" not in remark
    assert "A key" not in json.dumps(key)


def test_sarif_fixes_replace_whole_lines() -> None:
    (run,) = json.loads(render(a_reported_run(), SARIF))["runs"]
    (fix,) = next(it for it in run["results"] if it["ruleId"] == "S105")["fixes"]
    (change,) = fix["artifactChanges"]
    assert fix["description"]["text"] == "Move\nit."
    assert change["replacements"] == [
        {
            "deletedRegion": {"startLine": 9, "startColumn": 1, "endLine": 10, "endColumn": 1},
            "insertedContent": {"text": "    key = read()\n"},
        }
    ]


def test_sarif_paths_are_relative_to_the_repository() -> None:
    run = a_reported_run().model_copy(
        update={"repository_url": "https://github.com/a/b", "repository_folder": "shop"}
    )
    log = render(run, SARIF)
    (reported,) = json.loads(log)["runs"]
    uris = {it["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for it in reported["results"]}
    assert uris == {"shop/app.py", "shop/b%20c.py"}
    assert reported["versionControlProvenance"] == [
        {"repositoryUri": "https://github.com/a/b", "revisionId": "abc123"}
    ]
    assert faults(log) == []


def test_sarif_lists_unreviewed_items() -> None:
    (run,) = json.loads(render(a_reported_run(), SARIF))["runs"]
    (invocation,) = run["invocations"]
    assert not invocation["executionSuccessful"]
    told = [(it["level"], it["message"]["text"]) for it in invocation["toolExecutionNotifications"]]
    assert told == [
        ("error", "not reviewed: failed: the agent failed (1): c.py"),
        ("note", "not reviewed: cancelled (1): e.py"),
        ("note", "not reviewed: binary (1): big.bin"),
    ]


def test_skipped_files_are_one_entry_for_each_reason() -> None:
    files = [SkippedItem(path=f"{number}.png", reason="binary") for number in range(66)]
    files += [SkippedItem(path="1,200 more files", reason="binary", count=1_200)]
    run = a_run(skipped=(*files, SkippedItem(path="poetry.lock", reason="generated")))
    (notes,) = [it["invocations"][0] for it in json.loads(render(run, SARIF))["runs"]]
    binary, generated = notes["toolExecutionNotifications"]
    assert binary["message"]["text"].startswith("not reviewed: binary (1,266): 0.png, 1.png, ")
    assert binary["message"]["text"].endswith(", 19.png, and 1,246 more")
    assert (len(binary["locations"]), len(generated["locations"])) == (20, 1)
    assert faults(render(run, SARIF)) == []
    assert [it.attrib["name"] for it in suites(run)] == ["skipped: binary", "skipped: generated"]
    assert f"- binary (1,266): {', '.join(f'`{at}.png`' for at in range(20))}, and 1,246 more\n" in render(
        run, MARKDOWN
    )
    assert "<summary>binary (1266)</summary>" in render(run, HTML)


def test_no_two_results_of_a_log_have_one_fingerprint() -> None:
    run = compare_run(a_run(a_result(*[a_finding(line=line) for line in (1, 2, 3)])))
    (told,) = json.loads(render(run, SARIF))["runs"]
    assert len({json.dumps(it["partialFingerprints"]) for it in told["results"]}) == 3


def test_schema_refuses_invalid_sarif() -> None:
    log = json.loads(render(a_reported_run(), SARIF))
    log["runs"][0]["results"][0]["level"] = "high"
    log["runs"][0]["results"][1]["line"] = 3
    log["runs"][0]["results"][2]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] = "session:x"
    assert len(faults(json.dumps(log))) == 3


@given(evil_runs())
def test_sarif_is_valid_for_any_text(run: ReviewRun) -> None:
    assert faults(render(run, SARIF)) == []


# -- JUnit -------------------------------------------------------------------------------------


def suites(run: ReviewRun) -> list[ElementTree.Element]:
    return list(ElementTree.fromstring(render(run, JUNIT)))  # noqa: S314 - written just now


def outcomes(suite: ElementTree.Element) -> list[str]:
    return [case[0].tag if len(case) else "passed" for case in suite.findall("testcase")]


def test_junit_has_a_case_per_finding() -> None:
    told = {it.attrib["name"]: outcomes(it) for it in suites(a_reported_run())}
    assert told == {
        "app.py": ["failure", "failure", "skipped"],
        "b c.py": ["failure"],
        "c.py": ["error"],
        "d.py": ["passed"],
        "e.py": ["skipped"],
        "skipped: binary": ["skipped"],
    }


def test_junit_suites_of_one_name_are_not_merged() -> None:
    run = compare_run(a_run(a_result(path="a.py", summary="one"), a_result(path="a.py", summary="two")))
    assert [it.findtext("system-out") for it in suites(run)] == ["one", "two"]


def test_junit_has_totals() -> None:
    report = ElementTree.fromstring(render(a_reported_run(), JUNIT))  # noqa: S314 - written just now
    totals = {name: report.attrib[name] for name in ("tests", "failures", "errors", "skipped")}
    assert totals == {"tests": "8", "failures": "3", "errors": "1", "skipped": "3"}


def test_junit_failures_have_message_and_severity() -> None:
    failure = suites(a_reported_run())[0][1][0]
    assert failure.attrib == {"message": "A key in the code", "type": "high"}
    assert failure.text == "A key in the code\nKeys leak.\nruff; new\nMove\nit."


@given(evil_runs())
def test_junit_counts_match_for_any_text(run: ReviewRun) -> None:
    for suite in suites(run):
        told = outcomes(suite)
        counted = {name: int(suite.attrib[name]) for name in ("tests", "failures", "errors", "skipped")}
        assert counted == {
            "tests": len(told),
            "failures": told.count("failure"),
            "errors": told.count("error"),
            "skipped": told.count("skipped"),
        }


# -- JSON lines --------------------------------------------------------------------------------


def test_jsonl_holds_the_whole_run() -> None:
    run = a_reported_run()
    objects = [json.loads(line) for line in render(run, JSONL).splitlines()]
    assert [it["type"] for it in objects] == ["run"] + ["item"] * 5 + ["skipped"] + ["finding"] * 5
    assert objects[0]["revision"] == "abc123"
    fields = set(Finding.model_fields)
    read = [
        Finding(**{key: it[key] for key in fields & it.keys()}) for it in objects if it["type"] == "finding"
    ]
    assert tuple(read) == run.findings
    assert [it["fingerprint"] for it in objects[-5:]] == [it.fingerprint for it in run.findings]


@given(evil_runs())
def test_each_line_is_an_object_for_any_text(run: ReviewRun) -> None:
    assert all(json.loads(line)["type"] for line in render(run, JSONL).removesuffix("\n").split("\n"))


# -- files -------------------------------------------------------------------------------------


def test_each_format_has_its_own_file() -> None:
    run = a_reported_run()
    told = report_files(run, [*formats(), SARIF])
    names = ["review.md", "review.html", "review.sarif", "review.junit.xml", "review.rdjson", "review.jsonl"]
    assert [it.name for it in told] == names
    texts = [render(run, it) for it in formats() if it is not ALIGNMENT]
    assert [it.text for it in told] == texts
    with pytest.raises(
        InvalidInput,
        match="format: must be one of markdown, html, sarif, junit, rdjson, jsonl: alignment is one file per session",
    ):
        render(run, ALIGNMENT)


def test_alignment_documents_are_separate_files() -> None:
    ids = [new_id() for _ in range(4)]
    documents = {ids[0]: "# one", ids[3]: "# four"}

    def transcript(session_id: str) -> str:
        if session_id == ids[1]:
            raise SessionNotFound(session_id)
        if session_id == ids[2]:
            raise InvalidInput("protocol", None, "must be alignment")
        return documents[session_id]

    paths = ("a/b c.py", "gone.py", "plain.py", "../../..")
    results = [a_result(path=path, session_id=it) for path, it in zip(paths, ids, strict=True)]
    told = report_files(a_run(*results, a_result()), [ALIGNMENT], transcript=transcript)
    assert {it.name: it.text for it in told} == {
        "0001-a-b-c.py.dialogue.md": "# one",
        "0004-item.dialogue.md": "# four",
    }


def test_sarif_messages_have_no_embedded_links():
    finding = a_finding(
        message="See [the fix](https://evil.example/x).", suggestion="[y](z)", replacement="x"
    )
    run = a_run(a_result(finding), findings=(finding,))
    (file,) = report_files(run, [SARIF])
    part = json.loads(file.text)["runs"][0]
    (rule,), (result,) = part["tool"]["driver"]["rules"], part["results"]
    texts = [rule["shortDescription"], rule["fullDescription"], rule["help"], result["message"]]
    assert not any("](" in it["text"] for it in texts)


_POSITION = {
    "type": "object",
    "required": ["line"],
    "properties": {"line": {"type": "integer", "minimum": 1}},
}
_RANGE = {
    "type": "object",
    "additionalProperties": False,
    "required": ["start"],
    "properties": {"start": _POSITION, "end": _POSITION},
}
_NAMED = {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}}
#: What of reviewdog's own schema a report uses.
SCHEMA = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "source": _NAMED,
        "diagnostics": {
            "type": "array",
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": ["message", "location"],
                "properties": {
                    "message": {"type": "string", "minLength": 1},
                    "location": {
                        "type": "object",
                        "additionalProperties": False,
                        "required": ["path"],
                        "properties": {"path": {"type": "string"}, "range": _RANGE},
                    },
                    "severity": {"enum": ["ERROR", "WARNING", "INFO"]},
                    "source": _NAMED,
                    "code": {"type": "object", "properties": {"value": {"type": "string"}}},
                    "suggestions": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "additionalProperties": False,
                            "required": ["range", "text"],
                            "properties": {"range": _RANGE, "text": {"type": "string"}},
                        },
                    },
                },
            },
        },
    },
}


def diagnostics(*findings: Any) -> list[dict[str, Any]]:
    return json.loads(render(a_run(findings=findings), RDJSON))["diagnostics"]


def test_diagnostic_has_place_rule_and_suggestion():
    finding = on_line(2, end_line=3, severity=Severity.HIGH, why="It leaks.", replacement="key = read()")
    lines = {"start": {"line": 2}, "end": {"line": 3}}
    assert diagnostics(finding) == [
        {
            "message": "S105 is broken\n\nIt leaks.",
            "location": {"path": "app.py", "range": lines},
            "severity": "ERROR",
            "code": {"value": "S105"},
            "source": {"name": "ruff"},
            "suggestions": [{"range": lines, "text": "key = read()"}],
        }
    ]


def test_finding_about_a_file_has_no_range():
    (diagnostic,) = diagnostics(a_finding(line=0, severity=Severity.LOW, replacement="x"))
    assert diagnostic["location"] == {"path": "app.py"}
    assert (diagnostic["severity"], "suggestions" in diagnostic) == ("INFO", False)


def test_known_and_gone_findings_are_left_out():
    run = a_reported_run()
    found = json.loads(render(run, RDJSON))["diagnostics"]
    assert [it["code"]["value"] for it in found] == [it.rule for it in run.open_findings]
    assert len(found) < len(run.findings)


@given(evil_runs())
def test_report_is_valid_for_any_text(run):
    Draft4Validator(SCHEMA).validate(json.loads(render(run, RDJSON)))
