"""Reports: each format is valid, tells all of a run, and lets nothing that was said become more than text."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from review_values import PLAIN, a_finding, a_result, a_run, findings
from sarif_subset import faults
from symposia.models.errors import InvalidInput, SessionNotFound
from symposia.models.ids import new_id
from symposia.models.review.findings import Finding
from symposia.models.review.items import Skipped
from symposia.models.review.runs import ItemState, ReviewRun, RunState
from symposia.models.review.severity import Severity
from symposia.models.turn import Usage
from symposia.reviews.baseline import baseline_of, read_baseline
from symposia.reviews.comparing import settled, with_baseline
from symposia.reviews.reports.formats import ReportFormat, render, report_files
from symposia.reviews.reports.markdown import text

UNUSED = a_finding()
KEY = a_finding(
    line=9, rule="S105", severity=Severity.HIGH, message="A key in the code", suggestion="Move\nit."
)
LONG = a_finding(line=30, rule="E501", severity=Severity.LOW, message="Line too long")
GONE = a_finding(line=77, rule="F841", message="never used")
#: What people, models and attackers write.
EVIL = (
    "<script>alert(1)</script>",
    "![x](http://evil.example/x.png)",
    "[a](javascript:alert(1)) <https://evil.example> https://evil.example www.evil.example",
    "# heading",
    "- item",
    "1. item",
    "> quoted",
    "```\nfence",
    "@everyone &lt;b&gt; <b>x</b> <!-- -->",
    "| a | b |\n|---|---|",
    '" onmouseover="x" \'',
    "]]> <![CDATA[",
    "***bold*** __bold__ ~~gone~~",
    "a\x00b\x0b\ufffe\U0001f600\u2028",
    "=====",
    "[x]: http://evil.example",
    "`code` and ``more ` code``",
    "\\[x\\](y) \\`a`b",
)
evil = (
    st.sampled_from(EVIL)
    | PLAIN
    | st.text(alphabet="`*_[]()<>#-+!|~\\\n &;:/.w1ab@\"'", min_size=1).filter(str.strip)
)


def a_reported_run() -> ReviewRun:
    """A run with one of everything."""
    run = a_run(
        a_result(UNUSED, KEY, LONG, summary="Two things.\nMend them."),
        a_result(a_finding(path="b c.py", line=0, rule="remark", agents=("model", "ruff")), path="b c.py"),
        a_result(path="c.py", state=ItemState.FAILED, error="the agent failed"),
        a_result(path="d.py", state=ItemState.UNCHANGED),
        a_result(path="e.py", state=ItemState.CANCELLED),
        skipped=(Skipped(path="big.bin", reason="binary"),),
        summary="Not bad.",
        revision="abc123",
        usage=Usage(input_tokens=5, cost_micros=1_234),
        state=RunState.PARTIAL,
    )
    return with_baseline(settled(run, previous=[UNUSED, GONE]), read_baseline(baseline_of([LONG])))


@st.composite
def evil_runs(draw: st.DrawFn) -> ReviewRun:
    found = [
        it.model_copy(
            update={
                "message": draw(evil),
                "rule": draw(evil),
                "suggestion": draw(evil),
                "agents": (draw(evil),),
            }
        )
        for it in draw(st.lists(findings(), max_size=3))
    ]
    path = draw(evil)
    results = [
        a_result(*[it.model_copy(update={"path": path}) for it in found], path=path, summary=draw(evil))
    ]
    results.append(a_result(path=draw(evil), state=ItemState.FAILED, error=draw(evil)))
    skipped = (Skipped(path=draw(evil), reason=draw(evil)),)
    return settled(
        a_run(*results, skipped=skipped, summary=draw(evil), root_name=draw(evil), panel=draw(evil))
    )


# -- SARIF -------------------------------------------------------------------------------------


def test_sarif_is_valid_and_names_place_rule_and_state() -> None:
    log = render(a_reported_run(), ReportFormat.SARIF)
    assert faults(log) == []
    (run,) = json.loads(log)["runs"]
    rules = [it["id"] for it in run["tool"]["driver"]["rules"]]
    told = {it["ruleId"]: it for it in run["results"]}
    assert sorted(told) == ["E501", "F401", "S105", "remark"] == rules
    assert all(rules[it["ruleIndex"]] == it["ruleId"] for it in run["results"])
    place = told["S105"]["locations"][0]["physicalLocation"]
    assert place == {"artifactLocation": {"uri": "app.py"}, "region": {"startLine": 9, "endLine": 9}}
    assert (told["S105"]["level"], told["S105"]["message"]["text"]) == (
        "error",
        "A key in the code\n\nMove\nit.",
    )
    assert (told["F401"]["baselineState"], told["S105"]["baselineState"]) == ("unchanged", "new")
    assert [it["kind"] for it in told["E501"]["suppressions"]] == ["external"]
    whole = told["remark"]["locations"][0]["physicalLocation"]
    assert whole == {"artifactLocation": {"uri": "b%20c.py"}}


def test_sarif_says_what_was_not_reviewed() -> None:
    (run,) = json.loads(render(a_reported_run(), ReportFormat.SARIF))["runs"]
    (invocation,) = run["invocations"]
    assert not invocation["executionSuccessful"]
    told = [it["message"]["text"] for it in invocation["toolExecutionNotifications"]]
    assert told == ["failed: the agent failed", "skipped: binary"]


def test_no_two_results_of_a_log_have_one_fingerprint() -> None:
    run = settled(a_run(a_result(*[a_finding(line=line) for line in (1, 2, 3)])))
    (told,) = json.loads(render(run, ReportFormat.SARIF))["runs"]
    assert len({json.dumps(it["partialFingerprints"]) for it in told["results"]}) == 3


def test_the_subset_refuses_what_is_not_sarif() -> None:
    log = json.loads(render(a_reported_run(), ReportFormat.SARIF))
    log["runs"][0]["results"][0]["level"] = "high"
    log["runs"][0]["results"][1]["line"] = 3
    log["runs"][0]["results"][2]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] = "session:x"
    assert len(faults(json.dumps(log))) == 3


@given(evil_runs())
def test_sarif_is_valid_whatever_was_said(run: ReviewRun) -> None:
    assert faults(render(run, ReportFormat.SARIF)) == []


# -- JUnit -------------------------------------------------------------------------------------


def suites(run: ReviewRun) -> list[ElementTree.Element]:
    return list(ElementTree.fromstring(render(run, ReportFormat.JUNIT)))  # noqa: S314 - written just now


def outcomes(suite: ElementTree.Element) -> list[str]:
    return [case[0].tag if len(case) else "passed" for case in suite]


def test_junit_has_a_suite_an_item_and_a_case_a_finding() -> None:
    told = {it.attrib["name"]: outcomes(it) for it in suites(a_reported_run())}
    assert told == {
        "app.py": ["failure", "failure", "skipped"],
        "b c.py": ["failure"],
        "c.py": ["error"],
        "d.py": ["passed"],
        "e.py": ["skipped"],
        "big.bin": ["skipped"],
    }


def test_junit_failures_say_what_and_how_bad() -> None:
    failure = suites(a_reported_run())[0][1][0]
    assert failure.attrib == {"message": "A key in the code", "type": "high"}
    assert failure.text == "A key in the code\nruff; new\nMove\nit."


@given(evil_runs())
def test_junit_counts_what_it_holds_whatever_was_said(run: ReviewRun) -> None:
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


def test_lines_hold_the_whole_run() -> None:
    run = a_reported_run()
    objects = [json.loads(line) for line in render(run, ReportFormat.JSONL).splitlines()]
    assert [it["type"] for it in objects] == ["run"] + ["item"] * 5 + ["skipped"] + ["finding"] * 5
    assert objects[0]["revision"] == "abc123"
    fields = set(Finding.model_fields)
    read = [Finding(**{key: it[key] for key in fields}) for it in objects if it["type"] == "finding"]
    assert tuple(read) == run.findings
    assert [it["fingerprint"] for it in objects[-5:]] == [it.fingerprint for it in run.findings]


@given(evil_runs())
def test_each_line_is_an_object_whatever_was_said(run: ReviewRun) -> None:
    assert all(
        json.loads(line)["type"] for line in render(run, ReportFormat.JSONL).removesuffix("\n").split("\n")
    )


# -- Markdown ----------------------------------------------------------------------------------


def kinds(markdown: str) -> list[Any]:
    """What a renderer of the GitHub kind makes of a document."""
    tokens = MarkdownIt("gfm-like", {"linkify": False}).parse(markdown)
    return [part for token in tokens for part in (token, *(token.children or ()))]


def test_markdown_tells_everything_in_order() -> None:
    report = render(a_reported_run(), ReportFormat.MARKDOWN)
    order = [
        *("# Review of shop by the panel code", "**State**: partial", "**Items**: 2 reviewed, 1 failed"),
        *("0.0012 US dollars", "> Not bad.", "| severity | new | still there | gone | suppressed |"),
        *("| high | 1 | 0 | 0 | 0 |", "## Findings", "### `app.py`", "- **medium**, line 3, `F401`"),
        *("- **high**, line 9, `S105`: A key in the code (ruff; new)", "  ```\n  Move\n  it.\n  ```"),
        *(
            "### `b c.py`",
            "(model, ruff; new)",
            "## Gone",
            "`app.py:77` `F841`",
            "## Suppressed by the baseline",
        ),
        *("`app.py:30`", "## Not reviewed", "`c.py`: failed: the agent failed", "`e.py`: cancelled"),
        *("`big.bin`: binary", "## What was said", "> Two things.\n> Mend them."),
    ]
    places = [report.find(it) for it in order]
    assert -1 not in places, order[places.index(-1)]
    assert places == sorted(places)


def test_a_clean_run_says_so() -> None:
    report = render(settled(a_run(a_result())), ReportFormat.MARKDOWN)
    assert "## Findings\n\nNothing to act on.\n" in report
    assert "|" not in report


@given(evil_runs())
def test_nothing_that_was_said_becomes_more_than_text_in_markdown(run: ReviewRun) -> None:
    tokens = kinds(render(run, ReportFormat.MARKDOWN))
    assert not {it.type for it in tokens} & {
        "link_open",
        "image",
        "html_block",
        "html_inline",
        "hr",
        "code_block",
    }
    headings = [it for it in tokens if it.type == "heading_open"]
    titles = ("Findings", "Gone", "Suppressed by the baseline", "Not reviewed", "What was said")
    level_2 = [it.children for it in tokens if it.type == "inline" and it.level == 1 and it.content in titles]
    assert len([it for it in headings if it.tag == "h1"]) == 1
    assert len([it for it in headings if it.tag == "h2"]) == len(level_2)


@given(evil)
def test_words_in_markdown_are_shown_as_they_were_said(said: str) -> None:
    shown = "".join(
        f"`{it.content}`" if it.type == "code_inline" else it.content
        for it in kinds(f"- {text(said)}")[3].children
    )
    assert re.sub(r"[`\s]+", "", shown) == re.sub(r"[`\s\x00]+", "", said.replace("\x00", "\ufffd"))


# -- HTML --------------------------------------------------------------------------------------


class Page(HTMLParser):
    """Which elements a page has, and its words."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.open: list[str] = []
        self.words: list[str] = []
        self.policy = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        if dict(attrs).get("http-equiv") == "Content-Security-Policy":
            self.policy = dict(attrs)["content"] or ""
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)


TAGS = {
    *("html", "head", "meta", "title", "style", "body", "h1", "h2", "h3", "dl", "dt", "dd", "ul", "li", "p"),
    *("table", "thead", "tbody", "tr", "th", "td", "details", "summary", "code", "pre", "small", "span"),
    *("strong", "blockquote"),
}


@given(evil_runs())
def test_nothing_that_was_said_becomes_more_than_text_in_html(run: ReviewRun) -> None:
    page = Page(render(run, ReportFormat.HTML))
    assert page.tags <= TAGS
    assert page.attributes <= {"lang", "charset", "http-equiv", "content", "name", "class", "scope"}
    assert page.open == []
    assert run.root_name.strip() in "".join(page.words)


def test_a_page_may_load_and_run_nothing() -> None:
    report = render(a_reported_run(), ReportFormat.HTML)
    page = Page(report)
    assert page.policy.startswith("default-src 'none'; style-src 'sha256-")
    assert not re.search(r"https?:|url\(|@import", report)
    assert "prefers-color-scheme: dark" in report


def test_a_page_tells_everything() -> None:
    words = " ".join("".join(Page(render(a_reported_run(), ReportFormat.HTML)).words).split())
    for told in (
        *(
            "Review of shop by the panel code",
            "2 reviewed, 1 failed",
            "Not bad.",
            "high line 9 S105 A key in the code",
        ),
        *(
            "Gone (1)",
            "app.py:77 F841",
            "Suppressed by the baseline (1)",
            "Not reviewed (3)",
            "What was said (1)",
        ),
    ):
        assert told in words


# -- files -------------------------------------------------------------------------------------


def test_each_format_has_a_file_of_its_own() -> None:
    run = a_reported_run()
    told = report_files(run, [*ReportFormat, ReportFormat.SARIF])
    names = ["review.md", "review.html", "review.sarif", "review.junit.xml", "review.jsonl"]
    assert [it.name for it in told] == names
    texts = [render(run, it) for it in ReportFormat if it is not ReportFormat.ALIGNMENT]
    assert [it.text for it in told] == texts
    with pytest.raises(InvalidInput, match="format: must be a format of one document"):
        render(run, ReportFormat.ALIGNMENT)


def test_the_documents_of_alignment_sessions_are_files_of_their_own() -> None:
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
    told = report_files(a_run(*results, a_result()), [ReportFormat.ALIGNMENT], transcript=transcript)
    assert {it.name: it.text for it in told} == {
        "0001-a-b-c.py.dialogue.md": "# one",
        "0004-item.dialogue.md": "# four",
    }
