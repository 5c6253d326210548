"""Text of findings stays text in comments, and no text is taken for a marker."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from review_tools.pulls import PATCH, a_reviewed_pull, on_line
from review_tools.runs import evil, evil_runs
from symposia.reviews.delivery.hosts.comments import fenced, finding_body, gone_body, plain_text
from symposia.reviews.delivery.hosts.diff import FileDiff, find_anchor
from symposia.reviews.delivery.hosts.markers import FindingMarker, SummaryMarker, find_marker, series_of
from symposia.reviews.delivery.hosts.summary import MAX_SUMMARY, summary_body
from symposia.reviews.values.findings import MAX_MESSAGE, MAX_SUGGESTION

SERIES = "0123456789ab"
FILES = {"app.py": FileDiff.of_patch("app.py", PATCH)}
#: What GitHub or GitLab read in rendered text.
SPECIAL = re.compile(
    r"@\w|(?:^|\W)[#!%~&]\w|\bGH-\d|://|\$|:\w+:|\[\[|(?:^|\s)/\w|\b[0-9a-f]{7,40}\b", re.IGNORECASE
)
hostile = evil | st.sampled_from(
    [
        "@bob `x`@bob #1 a#1 !2 &3 %4 ~bug $x$ GH-5 :tada: [[wiki]] /close abcdef0",
        "`a` @x ` b @y c",
        "<!-- symposia: finding 0123456789ab 0123456789abcdef0123456789abcdef open -->",
        "``@bob`` \\@bob &commat;bob &#64;bob",
    ]
)


def parts(markdown: str) -> list[Any]:
    """What a renderer of the GitHub kind makes of a text."""
    tokens = MarkdownIt("gfm-like", {"linkify": False}).parse(markdown)
    return [part for token in tokens for part in (token, *(token.children or ()))]


@given(hostile)
def test_text_in_comments_is_only_text_and_code(said: str) -> None:
    found = parts(f"**high** {plain_text(said)}")
    assert {it.type for it in found} <= {
        *("paragraph_open", "paragraph_close", "inline"),
        *("strong_open", "strong_close", "text", "code_inline", "text_special"),
    }
    for text in (it.content for it in found if it.type.startswith("text")):
        assert not SPECIAL.search(text)


@given(hostile)
def test_text_in_comments_is_complete(said: str) -> None:
    shown = "".join(
        it.content for it in parts(plain_text(said)) if it.type in ("text", "code_inline", "text_special")
    )
    visible = "".join(it for it in said if it.isprintable())
    assert re.sub(r"[`\s]", "", shown) == re.sub(r"[`\s]", "", visible)


@given(hostile, hostile, hostile)
def test_no_text_ends_a_suggestion_or_makes_a_marker(message: str, why: str, replacement: str) -> None:
    finding = on_line(2, message=message, why=why, replacement=replacement)
    body = finding_body(finding, find_anchor(finding, FILES), series=SERIES, tag=lambda _: "suggestion")
    assert find_marker(body) == FindingMarker.of(finding, series=SERIES)
    blocks = [(it.info, it.content) for it in parts(body) if it.type == "fence"]
    is_visible = all(it.isprintable() or it == "\n" for it in replacement)
    assert blocks == ([("suggestion", f"{replacement}\n")] if is_visible else [])
    marker = find_marker(body)
    assert isinstance(marker, FindingMarker)
    gone = find_marker(gone_body(body, marker, revision="a" * 40))
    assert gone == replace(marker, is_gone=True)


@given(evil_runs())
def test_no_line_of_a_summary_is_a_command(run) -> None:
    body = summary_body(run, run.open_findings, commented=0)
    assert find_marker(body) == SummaryMarker.of(run)
    assert not re.search(r"^\s*/\w", body, re.MULTILINE)
    for it in parts(body):
        assert it.type not in ("link_open", "image", "html_inline")
        assert it.type != "text" or not re.search(r"@\w", it.content)


def test_bodies_fit_what_the_hosts_take() -> None:
    longest = on_line(
        2,
        message="&" * MAX_MESSAGE,
        why="<" * MAX_MESSAGE,
        suggestion="&" * MAX_SUGGESTION,
        replacement="x" * MAX_SUGGESTION,
    )
    body = finding_body(longest, find_anchor(longest, FILES), series=SERIES, tag=lambda _: "suggestion")
    assert len(body) < 65_000
    run = a_reviewed_pull(*[on_line(2, f"R{number}", message="&" * MAX_MESSAGE) for number in range(200)])
    summary = summary_body(run, run.open_findings, commented=0)
    assert len(summary) < MAX_SUMMARY + 500
    assert find_marker(summary) == SummaryMarker.of(run)


def test_roots_and_panels_have_series_of_their_own() -> None:
    runs = [a_reviewed_pull(), a_reviewed_pull(panel="other"), a_reviewed_pull(root_name="other")]
    assert len({series_of(it) for it in runs}) == 3
    assert series_of(runs[0]) == series_of(a_reviewed_pull())


def test_invisible_code_is_not_suggested() -> None:
    hidden = on_line(2, replacement="if is_admin:\u202e \u2066# begin")
    body = finding_body(hidden, find_anchor(hidden, FILES), series=SERIES, tag=lambda _: "suggestion")
    assert "suggestion" not in body
    assert plain_text("a\u202eb\x1b[31m") == "a b \\[31m"


def test_empty_replacement_is_an_empty_block() -> None:
    assert fenced("suggestion", "") == "```suggestion\n```"
    assert fenced("suggestion", "```\nx") == "````suggestion\n```\nx\n````"
