"""Attachments of a turn as files for a program. Their names are digests: those of the messages are only data."""

from __future__ import annotations

from pathlib import Path

from ...models.errors import AttachmentUnavailable
from ...models.turns.turn import TurnContext

#: Placeholder in the arguments of a program.
ATTACHMENTS_PLACE = "{attachments}"


async def write_attachments(turn: TurnContext, folder: Path) -> Path:
    """Write the attachments that a turn sees into a folder, each by its digest; missing ones are left out."""
    target = folder / "attachments"
    target.mkdir()
    for attachment in turn.attachments:
        try:
            data = await attachment.load_async()
        except AttachmentUnavailable:
            continue
        (target / attachment.sha256).write_bytes(data)
    return target
