"""Reports for people: complete, with all text escaped."""

from __future__ import annotations

import html
import re
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from review_tools.runs import a_reported_run, evil, evil_runs
from review_tools.values import a_finding, a_result, a_run
from symposia.reviews.comparing import compare_run
from symposia.reviews.reports.formats import HTML, MARKDOWN, render
from symposia.reviews.reports.markdown import escape_text
from symposia.reviews.reports.report_model import replacement_diff
from symposia.reviews.values.findings import Excerpt
from symposia.reviews.values.runs import ItemState, ReviewRun, SkippedItem


def test_page_of_a_merged_finding_is_that_of_its_rule() -> None:
    run = compare_run(a_run(a_result(a_finding(rule="hard-coded key", aliases=("S105",)))))
    assert "([S105](<https://docs.astral.sh/ruff/rules/#S105>))" in render(run, MARKDOWN)
    assert ">Documentation of S105</a>" in render(run, HTML)


# -- Markdown ----------------------------------------------------------------------------------


def kinds(markdown: str) -> list[Any]:
    """What a renderer of the GitHub kind makes of a document."""
    tokens = MarkdownIt("gfm-like", {"linkify": False}).parse(markdown)
    return [part for token in tokens for part in (token, *(token.children or ()))]


def test_markdown_has_all_parts_in_order() -> None:
    report = render(a_reported_run(), MARKDOWN)
    order = [
        *("# Review of shop by the panel code", "**State**: partial", "**Items**: 2 reviewed, 1 failed"),
        *(
            "$0.0012",
            "> Not bad.",
            "> 3 to fix: 1 high",
            "| severity | new | still open | gone | suppressed |",
        ),
        *("| high | 1 | 0 | 0 | 0 |", "## Findings", "### `app.py`", "- **medium**, line 3, `F401`"),
        "- **high**, line 9, `S105`: A key in the code (ruff; new)",
        "  ```\n     8 | def load():\n  >  9 |     key = 'abc'\n    10 |     return key\n  ```",
        *(
            "  - Why: Keys leak.",
            "  - What to do ([S105](<https://docs.astral.sh/ruff/rules/#S105>)):\n\n  ```\n  Move\n  it.\n  ```",
        ),
        "  ```diff\n  -    key = 'abc'\n  +    key = read()\n  ```",
        "  - Confirmed by checker: It is a real key.",
        *("### `b c.py`", "(model, ruff; new)", "## Gone", "`app.py:77` `F841`", "## Suppressed"),
        *(
            "`app.py:30`",
            "## Not reviewed",
            "- failed: the agent failed (1): `c.py`",
            "- cancelled (1): `e.py`",
        ),
        *(
            "- binary (1): `big.bin`",
            "## Dropped findings",
            "- `d.py`: 2",
            "## Remarks",
            "> Two things.\n> Mend them.",
        ),
    ]
    places = [report.find(it) for it in order]
    assert -1 not in places, order[places.index(-1)]
    assert places == sorted(places)


def test_clean_run_has_nothing_to_fix() -> None:
    report = render(compare_run(a_run(a_result())), MARKDOWN)
    assert "> Nothing to fix.\n" in report
    assert "## Findings\n\nNo open findings.\n" in report
    assert "|" not in report


def test_repeated_messages_are_printed_once() -> None:
    results = [a_result(path=f"{number}.py", summary="All is well.") for number in range(3)]
    run = compare_run(a_run(*results, a_result(path="x.py", summary="Not quite.")))
    report = render(run, MARKDOWN)
    assert "### `0.py` and 2 more\n\n> All is well.\n\n### `x.py`\n\n> Not quite.\n" in report
    assert '<code class="copy">0.py</code> and 2 more<blockquote>All is well.' in render(run, HTML)


def test_unreviewed_items_are_not_reported_as_clean() -> None:
    run = a_run(a_result(state=ItemState.FAILED, error="away"))
    assert run.verdict == ""


@given(evil_runs())
def test_text_is_escaped_in_markdown(run: ReviewRun) -> None:
    tokens = kinds(render(run, MARKDOWN))
    assert not {it.type for it in tokens} & {
        "link_open",
        "image",
        "html_block",
        "html_inline",
        "hr",
        "code_block",
    }
    headings = [it for it in tokens if it.type == "heading_open"]
    titles = ("Findings", "Gone", "Suppressed", "Not reviewed", "Dropped findings", "Remarks")
    level_2 = [it.children for it in tokens if it.type == "inline" and it.level == 1 and it.content in titles]
    assert len([it for it in headings if it.tag == "h1"]) == 1
    assert len([it for it in headings if it.tag == "h2"]) == len(level_2)


@given(evil)
def test_markdown_shows_text_unchanged(said: str) -> None:
    shown = "".join(
        f"`{it.content}`" if it.type == "code_inline" else it.content
        for it in kinds(f"- {escape_text(said)}")[3].children
    )
    assert re.sub(r"[`\s]+", "", shown) == re.sub(r"[`\s\x00]+", "", said.replace("\x00", "\ufffd"))


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ("`os` imported but `x | y` unused", ["os", "x | y"]),
        ("``a ` b`` and `` `c` ``", ["a ` b", "`c`"]),
        ("```\nfence", []),
        ("`open and \\`escaped` too", []),
        ("`- item\n| cell |`", ["- item | cell |"]),
    ],
)
def test_code_in_texts_stays_code(text: str, codes: list[str]) -> None:
    finding = a_finding(message=text, why=text, suggestion=text)
    run = compare_run(a_run(a_result(finding), skipped=(SkippedItem(path="a`b.py", reason=text),)))
    tokens = kinds(render(run, MARKDOWN))
    shown = [it.content for it in tokens if it.type == "code_inline" and it.content in codes]
    assert [code for code in codes if shown.count(code) < 3] == []
    assert len([it for it in tokens if it.type == "fence"]) == ("\n" in text)
    for code in codes:
        assert f"<code>{html.escape(code)}</code>" in " ".join(render(run, HTML).split())


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
        if tag not in ("meta", "input"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)


TAGS = {
    *("html", "head", "meta", "title", "style", "body", "h1", "h2", "h3", "dl", "dt", "dd", "ul", "li", "p"),
    *("table", "thead", "tbody", "tr", "th", "td", "details", "summary", "code", "pre", "small", "span"),
    *("blockquote", "div", "h4", "mark", "del", "ins", "a"),
    *("form", "label", "select", "option", "button", "input", "output", "script", "b"),
}


@given(evil_runs())
def test_html_report_renders_any_text_as_text(run: ReviewRun) -> None:
    page = Page(render(run, HTML))
    assert page.tags <= TAGS
    assert page.attributes <= {
        *("lang", "charset", "http-equiv", "content", "name", "class", "scope"),
        *("selected", "type", "aria-label", "id", "open", "href", "hidden", "placeholder", "value"),
        *("target", "rel"),
    }
    assert page.open == []
    assert run.root_name.strip() in "".join(page.words)


def test_html_page_loads_nothing_and_runs_only_its_search() -> None:
    report = render(a_reported_run(), HTML)
    page = Page(report)
    assert re.match(r"default-src 'none'; script-src 'sha256-[^' ]+'; style-src 'sha256-", page.policy)
    assert report.count("<script") == 1
    assert not re.search(r"(?<!href=\")https?:|src=|url\(|@import", report)
    assert "prefers-color-scheme: dark" in report


def test_page_has_all_parts() -> None:
    words = " ".join("".join(Page(render(a_reported_run(), HTML)).words).split())
    for told in (
        *(
            "Review of shop by the panel code",
            "2 reviewed, 1 failed",
            "Not bad.",
            "high app.py:9 S105 A key in the code Why: Keys leak. 8def load(): > 9 key = 'abc' 10 return key",
            "What to do: Move it. Documentation of S105 - key = 'abc' + key = read() Confirmed by checker: It is a real key. ruff; new",
            "remark os imported but unused",
        ),
        *(
            "Gone (1)",
            "app.py:77 F841",
            "Suppressed (1)",
            "Not reviewed (3) failed: the agent failed (1)c.py",
            "Dropped findings (2)",
            "Remarks (1)",
        ),
    ):
        assert told in words


def test_lines_link_to_the_repository() -> None:
    run = a_reported_run().model_copy(
        update={"repository_url": "https://github.com/a/b", "repository_folder": "shop"}
    )
    link = "https://github.com/a/b/blob/abc123/shop/app.py#L9"
    assert f"**high**, [line 9](<{link}>), `S105`" in render(run, MARKDOWN)
    assert f'<a href="{link}" target="_blank" rel="noreferrer noopener">' in render(run, HTML)


@pytest.mark.parametrize("hidden", ["\u202e", "\x00", "\u2066", "\ufeff", "\r"])
def test_hidden_characters_of_code_are_visible(hidden: str) -> None:
    finding = a_finding(excerpt=Excerpt(first_line=3, lines=(f"a{hidden}b\r",)))
    run = compare_run(a_run(a_result(finding)))
    shown = f"a<U+{ord(hidden):04X}>b"
    assert shown in render(run, MARKDOWN)
    assert html.escape(shown) in render(run, HTML)
    assert hidden not in render(run, HTML) + render(run, MARKDOWN)


def test_replacement_without_all_replaced_lines_shows_the_new_ones() -> None:
    cut = a_finding(line=3, end_line=40, excerpt=Excerpt(first_line=3, lines=("a",)), replacement="b\nc")
    assert [tuple(it) for it in replacement_diff(cut)] == [("+", "b"), ("+", "c")]
    deleted = a_finding(line=3, excerpt=Excerpt(first_line=3, lines=("a",)), replacement="")
    assert [tuple(it) for it in replacement_diff(deleted)] == [("-", "a")]


@given(st.lists(st.text("ab"), min_size=1, max_size=6), st.lists(st.text("ab"), min_size=1, max_size=6))
def test_diff_holds_the_old_and_the_new_lines(old: list[str], new: list[str]) -> None:
    finding = a_finding(
        line=1, end_line=len(old), excerpt=Excerpt(first_line=1, lines=tuple(old)), replacement="\n".join(new)
    )
    lines = replacement_diff(finding)
    assert [it.text for it in lines if it.sign in " -"] == old
    assert [it.text for it in lines if it.sign in " +"] == ([] if new == [""] else new)
