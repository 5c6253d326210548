"""Compares what a page shows with what was printed."""

from __future__ import annotations

import re


def assert_shown(shown: str, printed: str) -> None:
    """Fail unless the text is as the page shows it; `...` on the page matches any text."""
    pattern = re.escape(shown.strip()).replace(r"\.\.\.", ".*")
    assert re.fullmatch(pattern, printed.strip(), re.DOTALL), f"the page shows\n{shown}\nand not\n{printed}"
