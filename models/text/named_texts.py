"""Texts of several speakers as HTML, for notebooks."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from .words import count_of

#: Maximum number of texts shown: the newest.
SHOWN = 200
_NAME = "font-weight:600;padding:2px 12px 2px 0;vertical-align:top;white-space:nowrap"
_TEXT = "text-align:left;padding:2px 0;white-space:pre-wrap"


def named_texts_html(title: str, texts: Iterable[tuple[str, str]], *, status: str) -> str:
    """Return a table of texts as HTML.

    Args:
        title: Title of the table; empty for none.
        texts: Pairs of a speaker and a text; the newest are shown.
        status: A line below the table.
    """
    everything = list(texts)
    left_out = len(everything) - SHOWN
    rows = [
        f'<tr><th style="{_NAME}">{escape(name)}</th><td style="{_TEXT}">{escape(text)}</td></tr>'
        for name, text in everything[-SHOWN:]
    ]
    if left_out > 0:
        rows.insert(0, f"<tr><td></td><td><em>{count_of(left_out, 'earlier message')}</em></td></tr>")
    return (
        f"<div><strong>{escape(title)}</strong><table><tbody>{''.join(rows)}</tbody></table>"
        f"<div><em>{escape(status)}</em></div></div>"
    )
