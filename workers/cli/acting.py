"""What the commands of tasks and conversations share: who acts, and how pages and people are shown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from ...tasks.conversations.service import Conversations

As = Annotated[str, typer.Option("--as", metavar="AGENT", help="The agent that acts.", show_default=False)]
TaskId = Annotated[str, typer.Argument(metavar="TASK", help="The task's id.")]
ConversationId = Annotated[str, typer.Argument(metavar="CONVERSATION", help="The conversation's id.")]
Agents = Annotated[list[str], typer.Argument(metavar="AGENT...", help="Ids of agents.")]
Limit = Annotated[int, typer.Option(min=1, max=100, help="At most so many.")]
Cursor = Annotated[str | None, typer.Option(help="Where the page before ended.")]


def desk() -> Conversations:
    """The desk of this installation."""
    from ...client import Client
    from ...config.settings import load_settings

    return Client(load_settings()).conversations


def tell_page(cursor: str | None) -> None:
    """Says how to go on."""
    from .screen import console

    if cursor is not None:
        console(stderr=True).print(f"More: --cursor {cursor}")
