"""The code blocks of a page of the documentation, which tests take to run them."""

from __future__ import annotations

import re
from pathlib import Path
from textwrap import dedent
from typing import NamedTuple

ROOT = Path(__file__).parents[3]
PAGES = ["README.md", *sorted(str(it.relative_to(ROOT)) for it in (ROOT / "docs").glob("**/*.md"))]
_BLOCK = re.compile(
    r"^(?P<indent> *)```(?P<language>\w*)(?: title=\"(?P<title>[^\"]+)\")?\n(?P<text>.*?)^(?P=indent)```$",
    re.DOTALL | re.MULTILINE,
)
#: How a block without a language begins that is typed in a terminal. `documents.console` follows these.
_TYPED = ("$ ", "symposia ")


class Block(NamedTuple):
    """A code block, without the indentation of a list that it is in."""

    language: str
    text: str
    #: Name of its file; empty: it has none.
    title: str = ""

    @property
    def is_typed(self) -> bool:
        """Whether it is typed in a terminal."""
        return self.language in ("console", "sh") or (not self.language and self.text.startswith(_TYPED))


class Page:
    """A page, and which of its blocks a module of tests takes."""

    def __init__(self, path: str) -> None:
        """Read it; `path` is relative to the root of the project."""
        self.path = path
        self.text = (ROOT / path).read_text()
        found = _BLOCK.finditer(self.text)
        self.blocks = [Block(it["language"], dedent(it["text"]), it["title"] or "") for it in found]
        self.taken: set[Block] = set()

    def take(self, language: str, words: str) -> str:
        """The only block of this language that contains the words."""
        (block,) = [it for it in self.blocks if it.language == language and words in it.text]
        self.taken.add(block)
        return block.text

    def take_all(self, language: str) -> list[str]:
        """All blocks of this language, in the order of the page."""
        blocks = [it for it in self.blocks if it.language == language]
        self.taken.update(blocks)
        return [it.text for it in blocks]
