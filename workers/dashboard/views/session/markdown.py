"""Markdown of messages as a tree of a few kinds of elements, from which the page creates DOM nodes.

A tree and not HTML: the page creates each element from a fixed list of names, so no text of a participant can
become markup. HTML in a message is text. Links lead to http, https and mailto only; images are links, so that
nothing is loaded from elsewhere.

A node is a text, or an object with `tag`, `children`, and for some elements `href`, `start` or `align`.
"""

from __future__ import annotations

import re
from functools import cache

from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode
from pydantic import JsonValue

from .visible import make_visible

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

_LINK = re.compile(r"(https?://[^/?#\s]|mailto:[^\s])", re.IGNORECASE)
_ALIGNED = re.compile(r"text-align:(left|center|right)")

Node = JsonValue


def is_safe_link(url: str) -> bool:
    """Return whether a link may be followed: an absolute address of http or https, or a mail address."""
    return _LINK.match(url) is not None


@cache
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"]).disable("image")
    parser.validateLink = is_safe_link  # type: ignore[method-assign]
    return parser


def parse_markdown(text: str) -> list[Node]:
    """Return the nodes of a message.

    Args:
        text: Markdown.

    Returns:
        The nodes, with every character visible.
    """
    return _nodes(SyntaxTreeNode(_parser().parse(make_visible(text))))


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
