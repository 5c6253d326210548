"""Python agents that read and write attachments."""

from __future__ import annotations

from symposia import Attachment
from symposia.models.turns.turn import DraftMessage, TurnContext, TurnOutcome

#: Bytes that are no text.
PICTURE = bytes(range(256)) * 40


def count_bytes(turn: TurnContext) -> str:
    """Say which files there are, with their sizes as they are read."""
    return ", ".join(f"{it.name}={len(it.load())}" for it in turn.attachments) or "no files"


async def count_bytes_async(turn: TurnContext) -> str:
    """The same on the event loop."""
    return ", ".join([f"{it.name}={len(await it.load_async())}" for it in turn.attachments]) or "no files"


def draw(turn: TurnContext) -> TurnOutcome:
    """Answer with a picture that depends on the turn."""
    picture = Attachment.of(f"turn-{turn.turn_number}.png", PICTURE + str(turn.turn_number).encode())
    return TurnOutcome(messages=(DraftMessage(content="A picture.", attachments=(picture,)),))


def hand_on(turn: TurnContext) -> TurnOutcome:
    """Answer with the files of the others, which are not read."""
    return TurnOutcome(messages=(DraftMessage(content="See above.", attachments=turn.attachments),))


def draw_too_much(turn: TurnContext) -> TurnOutcome:
    """Answer with a file that is larger than the limit of the tests."""
    big = Attachment.of("big.bin", b"x" * 5_000)
    return TurnOutcome(messages=(DraftMessage(content="Too much.", attachments=(big,)),))


def shrink(turn: TurnContext) -> TurnOutcome:
    """Answer with a file of another, whose size is made up."""
    made_up = turn.attachments[0].model_copy(update={"size": 1})
    return TurnOutcome(messages=(DraftMessage(content="See above.", attachments=(made_up,)),))
