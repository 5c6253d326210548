"""`symposia lint` and `symposia dialogue` as a person and as a program use them."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from symposia.models.dialogue import render
from symposia.models.dialogue.specification import example
from symposia.workers.cli.app import app
from symposia.workers.cli.exits import ExitCode, exit_code_of

LOOSE = "# T\n\n## Round 1 (X)\n\n### 🧁 Muffin\n\n- [TENSION T1]: y\n"


@pytest.fixture
def run():
    def invoke(*arguments, **options):
        return CliRunner().invoke(app, [str(it) for it in arguments], **options)

    return invoke


@pytest.fixture
def loose(tmp_path):
    path = tmp_path / "loose.dialogue.md"
    path.write_text(LOOSE)
    return path


def test_warnings_do_not_fail_and_errors_do(run, loose):
    assert run("lint", loose).exit_code == 0
    assert run("lint", loose, "--strict").exit_code == 1


def test_a_finding_names_its_place_and_the_line_to_write(run, loose):
    said = run("lint", loose).output
    assert f"{loose}:3:1: warning: a round is not written `## Round N: Label` [round-form]" in said
    assert "    ## Round 1: X" in said


def test_findings_are_told_as_json(run, loose):
    said = json.loads(run("lint", loose, "--json").stdout)
    (file,) = said["files"]
    assert (file["file"], said["errors"], said["warnings"]) == (str(loose), 0, 3)
    assert file["findings"][0] == {
        "code": "round-form",
        "severity": "warning",
        "line": 3,
        "column": 1,
        "message": "a round is not written `## Round N: Label`",
        "fix_hint": "## Round 1: X",
    }


def test_findings_are_told_as_sarif(run, loose):
    log = json.loads(run("lint", loose, "--sarif").stdout)
    assert [it["ruleId"] for it in log["runs"][0]["results"]] == ["round-form", "agent-form", "marker-form"]


def test_one_kind_of_data_is_printed_at_a_time(run, loose):
    error = run("lint", loose, "--json", "--sarif").exception
    assert exit_code_of(error) is ExitCode.BAD_INPUT
    assert str(error).startswith("--sarif: must not be given with --json")


def test_fixing_mends_the_file(run, loose):
    assert run("lint", loose, "--fix", "--strict").exit_code == 0
    assert loose.read_text() == "# T\n\n## Round 1: X\n\n### Muffin 🧁\n\n[TENSION T01: y]\n"


def test_standard_input_is_read(run):
    assert run("lint", "-", "--strict", input=render(example())).exit_code == 0


def test_a_document_is_shown_as_json_one_line_a_file(run, loose):
    lines = run("dialogue", loose, loose, "--json").stdout.splitlines()
    one = json.loads(lines[0])
    assert len(lines) == 2
    assert (one["title"], one["rounds"][0]["agents"]) == ("T", ["Muffin"])
    assert [(it["type"], it["ids"], it["line"], it["label"]) for it in one["markers"]] == [
        ("tension", ["T01"], 7, "y")
    ]
    assert [(it["id"], it["state"]) for it in one["tensions"]] == [("T01", "open")]


def test_a_document_is_shown_to_people(run, loose):
    said = run("dialogue", loose).stdout
    assert "Round 1: X  [Muffin]" in said
    assert "T01 open: y" in said


def test_the_specification_is_printed(run):
    assert "[PERSPECTIVE P01: " in run("dialogue", "--specification").stdout


@pytest.mark.parametrize("content", [None, b"\xff\xfe"])
def test_a_file_that_is_no_text_is_told_in_one_line(run, tmp_path, content):
    path = tmp_path / "x.md"
    if content is not None:
        path.write_bytes(content)
    error = run("lint", path).exception
    assert exit_code_of(error) is ExitCode.BAD_INPUT
    assert str(error).startswith("FILE: must be ")
