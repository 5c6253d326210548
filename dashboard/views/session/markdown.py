"""Markdown of messages as HTML of a few kinds of elements.

The HTML is made from a tree, each of whose elements is one of a fixed list, and every text in it is escaped: so no text
of a participant can become markup. HTML in a message is text. Links lead to http, https and mailto only; images are
links, so that nothing is loaded from elsewhere.

A node is a text, or an object with `tag`, `children`, and for some elements `href`, `start` or `align`.

A few thousand characters can ask for a million table cells, or for a thousand nested elements. A text beyond the
limits here is not parsed, or its result is dropped: the page shows it as plain text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from html import escape
from typing import NamedTuple, cast

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.rules_block.table import table
from markdown_it.token import Token
from markdown_it.tree import SyntaxTreeNode
from pydantic import JsonValue

from ..visible import make_visible
from .bounded_cache import BoundedCache

#: Kind of a node of markdown-it -> tag. Kinds that are not here are text.
TAGS = {
    "paragraph": "p",
    "strong": "strong",
    "em": "em",
    "s": "s",
    "bullet_list": "ul",
    "ordered_list": "ol",
    "list_item": "li",
    "blockquote": "blockquote",
    "table": "table",
    "thead": "thead",
    "tbody": "tbody",
    "tr": "tr",
    "th": "th",
    "td": "td",
    "hardbreak": "br",
    "hr": "hr",
    "link": "a",
}
#: Headings of a message are below those of the page.
_HEADINGS = {"h1": "h3", "h2": "h4"}
_LOWEST_HEADING = "h5"
ALL_TAGS = frozenset({*TAGS.values(), *_HEADINGS.values(), _LOWEST_HEADING, "code", "pre"})
ALIGNMENTS = frozenset({"left", "center", "right"})

#: Maximum number of elements and texts of a message.
MAX_NODES = 2_000
#: Maximum number of table cells of a message: a short row is filled up to the width of its header.
MAX_CELLS = 1_000
#: Maximum depth of nested elements. The page, and JSON, handle the tree recursively.
MAX_NESTED = 40
#: Maximum number of each of these characters: the parser's time grows with the square of their number.
_MAX_MARKS = 1_000
_MARKS = "[*_~|"
_CELLS = "symposia_cells"

_LINK = re.compile(r"(https?://[^/?#\s]|mailto:[^\s])", re.IGNORECASE)
_ALIGNED = re.compile(r"text-align:(left|center|right)")
#: Elements without an end, and Bootstrap's classes of alignments.
_VOID = frozenset({"br", "hr"})
_ALIGNED_CLASSES = {"left": "start", "center": "center", "right": "end"}

Node = JsonValue


def is_safe_link(url: str) -> bool:
    """Return whether a link may be followed: an absolute address of http or https, or a mail address."""
    return _LINK.match(url) is not None


class _TooLarge(Exception):
    """The Markdown has more table cells than a page shows."""


@cache
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"]).disable("image")
    parser.block.ruler.at("table", _parse_table, {"alt": ["paragraph", "reference"]})
    parser.validateLink = is_safe_link  # type: ignore[method-assign]
    return parser


def parse_markdown(text: str) -> list[Node] | None:
    """Return the nodes of a message.

    Args:
        text: Markdown.

    Returns:
        The nodes, with every character visible; None: there are too many, or they are nested too deeply.
    """
    shown = make_visible(text)
    if any(shown.count(mark) > _MAX_MARKS for mark in _MARKS):
        return None
    try:
        tokens = _parser().parse(shown)
    except _TooLarge:
        return None
    return _nodes(SyntaxTreeNode(tokens)) if _is_within_limits(tokens) else None


def _parse_table(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Parse a table, unless the tables of the text would have too many cells."""
    if silent or not table(state, start, end, True):
        return table(state, start, end, silent)
    columns = state.src[state.bMarks[start] : state.eMarks[start]].count("|") + 1
    row = start
    while row < end and not state.isEmpty(row):
        state.env[_CELLS] = state.env.get(_CELLS, 0) + columns
        row += 1
    if state.env[_CELLS] > MAX_CELLS:
        raise _TooLarge
    return table(state, start, end, silent)


def _is_within_limits(tokens: Sequence[Token]) -> bool:
    """Return whether the tree of some tokens may be built: building it is recursive."""
    count = depth = 0
    for block in tokens:
        depth += block.nesting
        nested = depth
        for token in block.children or [block]:
            count += token.nesting >= 0
            nested += token.nesting if block.children else 0
            if count > MAX_NODES or nested > MAX_NESTED:
                return False
    return True


def _nodes(parent: SyntaxTreeNode) -> list[Node]:
    nodes: list[Node] = []
    for child in parent.children:
        nodes.extend(_convert(child))
    return nodes


def _convert(node: SyntaxTreeNode) -> list[Node]:
    match node.type:
        case "softbreak":
            return ["\n"]
        case "code_inline":
            return [_element("code", _text(node))]
        case "fence" | "code_block":
            return [_element("pre", [_element("code", _text(node))])]
        case "heading":
            return [_element(_HEADINGS.get(node.tag, _LOWEST_HEADING), _nodes(node))]
        case kind if kind in TAGS and not node.hidden:  # hidden: the paragraph of a list without blank lines
            return [_element(TAGS[kind], _nodes(node), **_attributes(node))]
        case _:
            return _text(node) or _nodes(node)


def _element(tag: str, children: list[Node], **attributes: JsonValue) -> Node:
    return {"tag": tag, "children": children, **attributes}


def _text(node: SyntaxTreeNode) -> list[Node]:
    """Return the text of a node. An entity such as `&#x202e;` was decoded, so it may hold invisible characters."""
    return [make_visible(node.content)] if node.content and not node.children else []


def _attributes(node: SyntaxTreeNode) -> dict[str, JsonValue]:
    match node.type:
        case "link":
            return {"href": str(node.attrs.get("href", ""))}
        case "ordered_list" if "start" in node.attrs:
            return {"start": int(node.attrs["start"])}
        case "th" | "td":
            aligned = _ALIGNED.search(str(node.attrs.get("style", "")))
            return {"align": aligned[1]} if aligned else {}
        case _:
            return {}


#: Maximum characters of a message that a page renders. The cost of hostile Markdown grows faster than its length.
MAX_RENDERED = 8_000
#: Maximum bytes of rendered messages that a process remembers, and what an entry takes besides its texts.
_MAX_REMEMBERED, _ENTRY_BYTES = 16_000_000, 400


class Rendered(NamedTuple):
    """A message as HTML, in which every text of it is text."""

    html: str
    #: Whether the page offers the whole text.
    is_cut: bool


def render_markdown(content: str) -> Rendered:
    """Return a message as HTML. Invisible characters are longer when they are visible, so the text is cut again."""
    visible = make_visible(content[:MAX_RENDERED])
    text = visible[:MAX_RENDERED]
    nodes_html = _rendered.get(text, lambda: _html_or_plain(text))
    return Rendered(nodes_html[0], nodes_html[1] or max(len(content), len(visible)) > MAX_RENDERED)


def _html_or_plain(text: str) -> tuple[str, bool]:
    nodes = parse_markdown(text)
    return (f"<pre>{escape(text)}</pre>", True) if nodes is None else (to_html(nodes), False)


def to_html(nodes: Sequence[Node]) -> str:
    """Return nodes as HTML: known elements, and escaped texts."""
    return "".join(map(_node_html, nodes))


def _node_html(node: Node) -> str:
    if not isinstance(node, dict):
        return escape(str(node))
    tag = str(node["tag"])
    attributes = "".join(f' {name}="{escape(str(value))}"' for name, value in _html_attributes(node))
    if tag in _VOID:
        return f"<{tag}{attributes}>"
    return f"<{tag}{attributes}>{to_html(cast('list[Node]', node['children']))}</{tag}>"


def _html_attributes(node: Mapping[str, Node]) -> Iterator[tuple[str, object]]:
    if "href" in node:
        yield from (("href", node["href"]), ("rel", "noopener noreferrer nofollow"), ("target", "_blank"))
    if "start" in node:
        yield "start", node["start"]
    if "align" in node:
        yield "class", f"text-{_ALIGNED_CLASSES[str(node['align'])]}"
    if node["tag"] in ("pre", "table"):  # if they are wide, they scroll, also with the keyboard
        yield "tabindex", 0


def _size(text: str, rendered: tuple[str, bool]) -> int:
    return _ENTRY_BYTES + 2 * (len(text) + len(rendered[0]))


#: HTML of texts: readers of one session get the same messages.
_rendered: BoundedCache[str, tuple[str, bool]] = BoundedCache(_MAX_REMEMBERED, _size)
