"""Reading takes time in proportion to the text.

Work is counted, not timed: as many lines of the parser's own code are run for twice the text as twice over.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from symposia import alignment
from symposia.alignment.document import lint, parse, render
from symposia.models import alignment as values

HERE = tuple(str(Path(it.__file__).parent) for it in (alignment, values))
#: What the package remembers between two texts: work that an earlier test has done would not be counted.
CACHES = {
    id(value): value
    for name, module in list(sys.modules.items())
    if name.startswith((alignment.__name__, values.__name__))
    for value in vars(module).values()
    if hasattr(value, "cache_clear")
}
SHAPES = {
    "unclosed markers": lambda n: "[TENSION T01 " * n,
    "nested markers": lambda n: "[TENSION x " * n + "]" * n,
    "nested labels": lambda n: "[TENSION T01: " * n + "]" * n,
    "brackets": lambda n: "[TENSION T01: " + "[" * n,
    "markers on a line": lambda n: "[TENSION T01: x] " * n,
    "markers on lines": lambda n: "[TENSION T01: x]\n" * n,
    "backticks of many lengths": lambda n: " ".join("`" * k for k in range(1, int((2 * n) ** 0.5))) + "[TENSION T01: x]",
    "code spans": lambda n: "`a` " * n + "[TENSION T01: x]",
    "backslashes": lambda n: "\\" * n + "[TENSION T01: x]",
    "ids": lambda n: "[RESOLVED " + "T01, " * n + "]",
    "fences": lambda n: "```\n~~~~\n" * n,
    "fences of many lengths": lambda n: "\n".join("`" * k for k in range(3 + int((2 * n) ** 0.5), 3, -1)),
    "comments": lambda n: "<!--\n" * n,
    "rounds": lambda n: "## Round 1: X\n\n### Muffin 🧁\n\nhi\n\n" * n,
    "mentions of rounds": lambda n: "".join(f"## Round {i} (Review)\n\n### Muffin 🧁\n\nhi\n\n" for i in range(n)),
    "sections with turns": lambda n: "## Round 1\n\n" + "## Positions\n\n### Muffin 🧁\n\nhi\n\n" * n,
    "sections": lambda n: "## S\n\nsome words\n\n" * n,
    "sections of other names": lambda n: "".join(f"## S{i}\n\nsome words\n\n" for i in range(n)),
    "underlines": lambda n: "Round 1: X\n---\n\nMuffin 🧁\n---\n\nwords\n---\n\n" * n,
    "equal signs": lambda n: "T\n" + "=" * n,
    "bold rounds": lambda n: "**Round 1: X**\n\nwords\n\n" * n,
    "speakers": lambda n: "**Experts**: Muffin, Scone\n\n# T\n\n## Round 1\n\n" + "**Muffin**: x\n\nScone: y\n" * n,
    "speakers of bold rounds": lambda n: "### Muffin 🧁\n\n" + "**Round 1**\n\n**Muffin**: x\n\n" * n,
    "headings of other spellings": lambda n: "## Round 1\n### Muffin 🧁\n" + "### Muffin Response\n\\### Muffin Response\n" * n,
    "rows": lambda n: "| a | b |\n" * n,
    "one long row": lambda n: "| a " * n + "\n|---|\n",
    "quotes": lambda n: "> " * n + "[TENSION T01: x]",
    "metadata": lambda n: "# T\n" + "**K**: v\n" * n,
    "stars": lambda n: "# T\n" + "*" * n + ":",
    "emoji": lambda n: "## Round 1\n### " + "🧁 " * n,
    "a long heading": lambda n: "## Round 1\n### " + "Muffin — " * n + "🧁",
    "titles": lambda n: "## Round 1\n### Ada 🧁\n### " + "Dr. " * n + "Ada 🧁",
    "links to markers": lambda n: "[TENSION T01](" * n,
    "quotes around ids": lambda n: '[TENSION "T01": x] ' * n + '[TENSION "' * n,
    "hashes": lambda n: "#" * n,
    "long prose": lambda n: "word " * n,
}  # fmt: skip


#: What is looked at once more when it is checked.
CHECKED = {
    "like rounds": lambda n: "# T\n\n> ## Round 1: X\n\n**Round 1**: X\n\n<h2>Round 1</h2>\n\n" * n,
    "like turns": lambda n: "# T\n\n**Experts**: Ada, Bo\n\n" + "## Round 1\n\n### Alice\n\n### Ada & Bo\n\n" * n,
    "like one turn": lambda n: "# T\n\n**Experts**: Ada, Bo\n\n## Round 1\n\n### " + "Ada & " * n + "Bo\n",
}  # fmt: skip


def work(text: str, read: Callable[[str], object] = parse) -> int:
    """How many lines of the package are run to read `text` with empty caches."""
    for cache in CACHES.values():
        cache.cache_clear()
    count = 0

    def local(frame, event, arg):
        nonlocal count
        count += event == "line"
        return local

    def trace(frame, event, arg):
        return local if frame.f_code.co_filename.startswith(HERE) else None

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        read(text)
    finally:
        sys.settrace(before)
    return count


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.long
def test_work_is_linear_in_the_text(shape):
    make = SHAPES[shape]
    small, large = work(make(150)), work(make(600))
    assert large < 4.6 * small + 500


@pytest.mark.parametrize("shape", CHECKED)
@pytest.mark.long
def test_lint_work_is_linear_in_the_text(shape):
    make = CHECKED[shape]
    small, large = work(make(100), lint), work(make(400), lint)
    assert large < 4.6 * small + 500


@pytest.mark.long
@pytest.mark.parametrize("shape", SHAPES)
def test_long_text_of_any_form_is_read(shape):
    """A pattern that goes back over 100,000 characters exceeds the time limit of a test."""
    make = SHAPES[shape]
    assert parse(make(100_000 // max(1, len(make(1_000)) // 1_000))) is not None


@pytest.mark.long
def test_document_of_megabytes_is_read_and_written():
    turn = (
        "### Muffin 🧁\n\n[TENSION T01: Speed]\n\n"
        + "Some words about it, with `code`. " * 20
        + "\n\n- a list\n\n"
    )
    rounds = 3_000_000 // (len(turn) * 12 + 18)
    text = "# T\n\n" + "".join(f"## Round {n}: X\n\n{turn * 12}" for n in range(rounds))
    document = parse(text)
    assert len(document.markers) == 12 * rounds
    assert len(render(document)) > 2_700_000
