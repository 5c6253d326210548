"""`symposia lint` and `symposia dialogue` as a person and as a program use them."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from symposia.alignment.document import render
from symposia.alignment.document.specification import example
from symposia.cli.app import build_app
from symposia.cli.common.exit_codes import ExitCode, exit_code_of

LOOSE = "# T\n\n## Round 1 (X)\n\n### 🧁 Muffin\n\n- [TENSION T1]: y\n"


@pytest.fixture
def run():
    def invoke(*arguments, **options):
        return CliRunner().invoke(build_app(), [str(it) for it in arguments], **options)

    return invoke


@pytest.fixture
def loose(tmp_path):
    path = tmp_path / "loose.dialogue.md"
    path.write_text(LOOSE)
    return path


def test_warnings_do_not_fail_and_errors_do(run, loose):
    assert run("lint", loose).exit_code == 0
    assert run("lint", loose).stderr == "1 file: 0 errors, 3 warnings\n"
    assert run("lint", "-", input="# T\n\n[TENSION T01: x\n").stderr == "1 file: 1 error, 0 warnings\n"
    assert run("lint", loose, "--strict").exit_code == 1


def test_lint_names_the_place_and_the_corrected_line(run, loose):
    said = run("lint", loose).output
    assert f"{loose}:3:1: warning: a round must be written as `## Round N: Label` [round-form]" in said
    assert "    ## Round 1: X" in said


@pytest.fixture
def many(tmp_path):
    path = tmp_path / "many.dialogue.md"
    turns = "".join(f"### 🧁 Muffin\n\n- [TENSION T{n}]: y\n\n" for n in range(1, 8))
    path.write_text(f"# T\n\n## Round 1 (X)\n\n{turns}[TENSION T09: open\n\n[TENSION T10: open\n")
    return path


def test_counts_by_code_come_first(run, many):
    lines = run("lint", many).stdout.splitlines()
    assert [line.split()[:3] for line in lines[:4]] == [
        ["2", "error", "marker-unclosed"],
        ["7", "warning", "agent-form"],
        ["7", "warning", "marker-form"],
        ["1", "warning", "round-form"],
    ]
    assert "a turn must be written as `### Name Emoji`" in lines[1]


def test_equal_form_findings_are_one_line(run, many):
    said = run("lint", many).stdout
    assert said.count("[agent-form]") == said.count("[marker-form]") == 1
    assert "`### Name Emoji` [agent-form] (7 times: lines 5, 9, 13, 17, 21, ...)" in said
    assert said.count("[marker-unclosed]") == 2
    assert len(json.loads(run("lint", many, "--json").stdout)["files"][0]["findings"]) == 17
    assert len(json.loads(run("lint", many, "--sarif").stdout)["runs"][0]["results"]) == 17


@pytest.mark.parametrize(
    ("options", "codes", "exit_code"),
    [
        (["--select", "round-form"], {"round-form": 1}, 0),
        (["--select", "round-form,agent-form"], {"agent-form": 7, "round-form": 1}, 0),
        (
            ["--select", "round-form", "--select", "marker-unclosed"],
            {"marker-unclosed": 2, "round-form": 1},
            1,
        ),
        (["--ignore", "marker-unclosed, agent-form"], {"marker-form": 7, "round-form": 1}, 0),
        (["--errors-only"], {"marker-unclosed": 2}, 1),
        (["--errors-only", "--strict", "--select", "round-form"], {"round-form": 1}, 1),
        (["--select", "title-form"], {}, 0),
    ],
)
def test_codes_may_be_selected(run, many, options, codes, exit_code):
    result = run("lint", many, "--json", *options)
    data = json.loads(result.stdout)
    assert (data["counts"], result.exit_code) == (codes, exit_code)
    assert len(data["files"][0]["findings"]) == sum(codes.values())


def test_only_selected_codes_are_fixed(run, loose):
    run("lint", loose, "--fix", "--select", "round-form")
    assert loose.read_text() == LOOSE.replace("## Round 1 (X)", "## Round 1: X")
    run("lint", loose, "--fix", "--ignore", "agent-form")
    assert loose.read_text() == "# T\n\n## Round 1: X\n\n### 🧁 Muffin\n\n[TENSION T01: y]\n"


def test_an_unknown_code_is_refused(run, loose):
    error = run("lint", loose, "--ignore", "round-form,spelling").exception
    assert exit_code_of(error) is ExitCode.BAD_INPUT
    assert str(error).startswith("--ignore: must be one of the finding codes: agent-form, ")


def test_findings_are_printed_as_json(run, loose):
    said = json.loads(run("lint", loose, "--json").stdout)
    (file,) = said["files"]
    assert (file["file"], said["errors"], said["warnings"]) == (str(loose), 0, 3)
    assert file["findings"][0] == {
        "code": "round-form",
        "severity": "warning",
        "line": 3,
        "column": 1,
        "message": "a round must be written as `## Round N: Label`",
        "fix_hint": "## Round 1: X",
    }


def test_findings_are_printed_as_sarif(run, loose):
    log = json.loads(run("lint", loose, "--sarif").stdout)
    assert [it["ruleId"] for it in log["runs"][0]["results"]] == ["round-form", "agent-form", "marker-form"]


def test_output_formats_exclude_each_other(run, loose):
    error = run("lint", loose, "--json", "--sarif").exception
    assert exit_code_of(error) is ExitCode.BAD_INPUT
    assert str(error).startswith("--sarif: must not be used with --json")


def test_fix_writes_the_file(run, loose):
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
def test_binary_file_is_refused_in_one_line(run, tmp_path, content):
    path = tmp_path / "x.md"
    if content is not None:
        path.write_bytes(content)
    error = run("lint", path).exception
    assert exit_code_of(error) is ExitCode.BAD_INPUT
    assert str(error).startswith("FILE: cannot be read" if content is None else "FILE: must be UTF-8 text")
