"""Links of the documentation lead to files and headings that exist, on the repository page as on the site."""

from __future__ import annotations

import re
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

ROOT = Path(__file__).parents[2]
DOCUMENTS = [
    *sorted(ROOT.glob("*.md")),
    *sorted(ROOT.glob("docs/**/*.md")),
    *sorted(ROOT.glob("deploy/**/*.md")),
]
MARKDOWN = MarkdownIt("commonmark").enable("table")


def links(path: Path) -> list[str]:
    found = []
    for block in MARKDOWN.parse(path.read_text()):
        for it in block.children or ():
            target = it.attrGet("href") or it.attrGet("src")
            if target is not None:
                found.append(str(target))
    return found


@cache
def anchors(path: Path) -> set[str]:
    """The headings of a page as a link names them."""
    tokens = MARKDOWN.parse(path.read_text())
    names = [after.content for it, after in pairwise(tokens) if it.type == "heading_open"]
    return {re.sub(r"[^\w\- ]", "", name.lower()).replace(" ", "-") for name in names}


def broken(path: Path, link: str) -> bool:
    if re.match(r"https?:", link):
        return False
    file, _, anchor = link.partition("#")
    target = (path.parent / file).resolve() if file else path
    if not target.exists() or not target.is_relative_to(ROOT):
        return True
    return anchor != "" and anchor not in anchors(target)


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_to_something(path: Path) -> None:
    assert [link for link in links(path) if broken(path, link)] == []


def test_broken_links_are_found(tmp_path: Path) -> None:
    readme = ROOT / "README.md"
    assert broken(readme, "docs/none.md")
    assert broken(readme, "docs/modes.md#none")
    assert not broken(readme, "docs/modes.md#session-files")
