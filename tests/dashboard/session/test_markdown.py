"""Markdown of messages: a tree of known elements, in which every text of the message is text."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from symposia.dashboard.views.session.bounded_cache import BoundedCache
from symposia.dashboard.views.session.markdown import (
    ALIGNMENTS,
    ALL_TAGS,
    MAX_NESTED,
    MAX_NODES,
    MAX_RENDERED,
    is_safe_link,
    parse_markdown,
    render_markdown,
    to_html,
)
from symposia.dashboard.views.visible import make_visible

HOSTILE = [
    "<script>alert(1)</script>",
    '<img src=x onerror="alert(1)">',
    "<svg/onload=alert(1)>",
    "[x](javascript:alert(1))",
    "[x](JaVaScRiPt:alert(1))",
    "[x](data:text/html,<script>alert(1)</script>)",
    "[x](vbscript:x)",
    "[x](//evil.example)",
    "[x](/worker/shutdown)",
    "[x](&#106;avascript:alert(1))",
    "![x](https://evil.example/pixel.png)",
    "<javascript:alert(1)>",
    '[x](https://a.example "onclick=alert(1)")',
    "[x]: javascript:alert(1)\n\n[x]",
    "```html\n<script>alert(1)</script>\n```",
    "|<b>a</b>|\n|:-:|\n|<i>b</i>|",
    "\x1b[31mred\x1b[0m \x1b]8;;https://evil.example\x07link",
    "user\u202egnp.exe \u2066x\u2069 &#x202e;y \ufeff\U000e0041",
    "\x00\x08\x7f\x9b31m",
    "# <b>x</b>\n\n1. <i>y</i>\n\n> <u>z</u>",
]

#: Pieces of which hostile Markdown is made.
PIECES = st.sampled_from(
    [
        *HOSTILE,
        *"*_[]()<>`~|#-+!\\&;:/\"'\n\t ",
        "http://",
        "javascript:",
        "mailto:",
        "a",
        "é",
        "\u202e",
        "\x1b",
        "\r\n",
        "    ",
    ]
)


def walk(nodes):
    for node in nodes:
        yield node
        if isinstance(node, dict):
            yield from walk(node["children"])


def text_of(nodes) -> str:
    return "".join(node for node in walk(nodes) if isinstance(node, str))


def check(nodes) -> None:
    assert nodes is not None
    for node in walk(nodes):
        if isinstance(node, str):
            assert node == make_visible(node), "every character is visible"
            continue
        assert node["tag"] in ALL_TAGS
        assert node.keys() <= {"tag", "children", "href", "start", "align"}
        if "href" in node:
            assert node["tag"] == "a"
            assert re.match(r"(https?://|mailto:)", node["href"], re.IGNORECASE)
        assert isinstance(node.get("start", 0), int)
        assert node.get("align", "left") in ALIGNMENTS


class Reader(HTMLParser):
    """Reads HTML as a browser does."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


@given(st.lists(PIECES, max_size=40).map("".join) | st.text(max_size=200))
@example("\n".join(HOSTILE))
def test_html_has_the_elements_and_texts_of_the_nodes(text: str):
    nodes = parse_markdown(text)
    html = to_html(nodes)
    read = Reader(html)
    assert [tag for tag, _ in read.tags] == [it["tag"] for it in walk(nodes) if isinstance(it, dict)]
    assert "".join(read.texts) == text_of(nodes)
    for tag, attributes in read.tags:
        assert attributes.keys() <= {"href", "rel", "target", "start", "class", "tabindex"}
        assert tag != "a" or attributes["rel"] == "noopener noreferrer nofollow"
    assert Reader(render_markdown(text).html).tags == read.tags


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_markdown_becomes_known_elements_only(text: str):
    check(parse_markdown(text))


@given(st.lists(PIECES, max_size=40).map("".join) | st.text(max_size=200))
@example("\ud800 lone")
@example("&#0; &#xd800;")
def test_any_text_becomes_known_elements_only(text: str):
    check(parse_markdown(text))


def test_html_in_markdown_stays_text():
    text = '<b onclick="x()">bold</b> <script>alert(1)</script>'
    assert text_of(parse_markdown(text)) == text


def test_image_is_a_link_and_not_loaded():
    nodes = parse_markdown("![photo](https://a.example/x.png)")
    assert [node["tag"] for node in walk(nodes) if isinstance(node, dict)] == ["p", "a"]


def test_refused_link_shows_its_address():
    assert text_of(parse_markdown("[here](javascript:alert(1))")) == "[here](javascript:alert(1))"


@pytest.mark.parametrize(
    ("url", "is_safe"),
    [
        ("https://a.example/x", True),
        ("http://a.example", True),
        ("mailto:ann@a.example", True),
        ("HTTPS://A.EXAMPLE", True),
        ("https:/a", False),
        ("http:", False),
        ("ftp://a.example", False),
        ("//a.example", False),
        ("/tasks", False),
        ("tasks", False),
        ("#x", False),
        (" https://a.example", False),
        ("java\nscript:alert(1)", False),
    ],
)
def test_only_absolute_web_and_mail_links_are_safe(url: str, is_safe: bool):
    assert is_safe_link(url) is is_safe


def test_usual_markdown_is_rendered():
    nodes = parse_markdown("# Plan\n\n1. *one*\n2. **two**\n\n```py\nx = 1\n```\n\n|a|\n|-:|\n|1|")
    tags = [node["tag"] for node in walk(nodes) if isinstance(node, dict)]
    assert tags[0] == "h3", "headings of messages are below those of the page"
    assert {"ol", "li", "em", "strong", "pre", "code", "table", "th", "td"} <= set(tags)
    assert [node["align"] for node in walk(nodes) if isinstance(node, dict) and "align" in node] == [
        "right",
        "right",
    ]


def test_controls_are_shown_as_text():
    assert make_visible("a\x1b[31m\u202eb\tc\r\nd\r") == "a␛[31m\\u202eb\tc\nd␍"


@given(st.text())
def test_make_visible_is_idempotent(text: str):
    assert make_visible(make_visible(text)) == make_visible(text)


#: Texts that ask for many elements, for deep nesting, or for much of the parser's time.
EXPENSIVE = {
    "short rows": f"{'|a' * 100}\n{'|-' * 100}\n" + "|\n" * 3_500,
    "many tables": (f"{'|a' * 9}\n{'|-' * 9}\n" + "|\n" * 100 + "\n") * 33,
    "small tables": "|a\n|-\n" * 1_300,
    "brackets": "[" * 8_000,
    "links": "[a](b" * 1_300,
    "emphasis": "*a " * 1_300 + "a* " * 1_300,
    "emphasis below the limit of marks": "*a " * 450 + "a* " * 450,
    "underscores": "_a__b" * 1_600,
    "code": "`a` " * 2_000,
    "lines": "a\n" * 4_000,
    "quotes": ">" * 8_000,
    "invisible": "\U000e0001" * 8_000,
}


@pytest.mark.timeout(60)
@pytest.mark.parametrize("text", EXPENSIVE.values(), ids=EXPENSIVE)
def test_expensive_markdown_is_bounded(text: str):
    rendered = render_markdown(text)
    read = Reader(rendered.html)
    shown = "".join(read.texts)
    assert len(read.tags) <= 2 * MAX_NODES
    assert len(shown) <= MAX_RENDERED
    nodes = parse_markdown(text[:MAX_RENDERED])
    assert nodes is None or depth(nodes) <= MAX_NESTED
    assert rendered.is_cut or shown in (text, "")


def depth(nodes) -> int:
    return max((1 + depth(it["children"]) for it in nodes if isinstance(it, dict)), default=0)


def test_usual_table_is_rendered():
    nodes = parse_markdown("|a|b|c|\n|-|-|-|\n" + "|1|2|3|\n" * 50)
    assert [node["tag"] for node in nodes] == ["table"]
    assert sum(node.get("tag") == "td" for node in walk(nodes) if isinstance(node, dict)) == 150


def test_cache_is_bounded_by_size():
    cache: BoundedCache[int, str] = BoundedCache(100, lambda _, text: len(text))
    made = []

    def make(key: int, size: int) -> str:
        return cache.get(key, lambda: made.append(key) or "x" * size)

    for key in range(30):
        assert make(key, 10) == "x" * 10
    assert (make(29, 10), made[-1], cache.total) == ("x" * 10, 29, 100)
    assert len(make(40, 1_000)) == 1_000, "a result above the limit is returned, and not remembered"
    assert cache.total <= 100
