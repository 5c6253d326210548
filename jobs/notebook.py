"""Sessions in notebooks: the dialog as it grows, and the HTML of a result.

IPython is not imported: it is used if this process runs in one of its kernels.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from html import escape
from typing import Any

from ..models.protocol.dialog import Message

#: Maximum number of messages shown: the newest.
SHOWN = 200
_NAME = "font-weight:600;padding:2px 12px 2px 0;vertical-align:top;white-space:nowrap"
_TEXT = "text-align:left;padding:2px 0;white-space:pre-wrap"


def is_notebook() -> bool:
    """Return whether this process is the kernel of a notebook."""
    get_ipython = getattr(sys.modules.get("IPython"), "get_ipython", None)
    shell: Any = get_ipython() if get_ipython else None
    return hasattr(shell, "kernel")


def dialog_html(title: str, messages: Iterable[Message], *, status: str) -> str:
    """Return a table of messages as HTML.

    Args:
        title: Title of the session.
        messages: The messages; the newest are shown.
        status: A line below the table.
    """
    said = list(messages)
    left_out = len(said) - SHOWN
    rows = [
        f'<tr><th style="{_NAME}">{escape(it.author or it.role.value)}</th>'
        f'<td style="{_TEXT}">{escape(_shown(it))}</td></tr>'
        for it in said[-SHOWN:]
    ]
    if left_out > 0:
        rows.insert(0, f"<tr><td></td><td><em>{left_out} earlier messages</em></td></tr>")
    return (
        f"<div><strong>{escape(title)}</strong><table><tbody>{''.join(rows)}</tbody></table>"
        f"<div><em>{escape(status)}</em></div></div>"
    )


class LiveDisplay:
    """An output of a notebook that shows the dialog of a session, and is updated with each message.

    Must be created in the kernel of a notebook.
    """

    def __init__(self, title: str) -> None:
        self._title = title
        self._messages: list[Message] = []
        self._output: Any = sys.modules["IPython"].display.display(_Html(self._html()), display_id=True)

    def add(self, message: Message) -> None:
        """Show another message."""
        self._messages.append(message)
        self._output.update(_Html(self._html()))

    def _html(self) -> str:
        return dialog_html(self._title, self._messages, status="running")


class _Html:
    """An object that notebooks show as HTML."""

    def __init__(self, html: str) -> None:
        self._repr_html_ = lambda: html


def _shown(message: Message) -> str:
    return "\n".join(filter(None, (message.content, message.cut_line)))
