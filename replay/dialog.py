"""The recorded dialog, as each turn saw it. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from ..models.protocol.dialog import Message, message_digest
from ..models.sessions.recorded import SeenMessages
from ..tasks.views.turn_context import newest_messages


class RecordedDialog:
    """The messages of a session."""

    def __init__(self, messages: Sequence[Message]) -> None:
        self.messages = messages

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {message_digest(message): at for at, message in enumerate(self.messages)}

    def window(self, seen: SeenMessages, *, is_first_pinned: bool) -> tuple[Message, ...] | None:
        """Return the messages that a turn saw; None: the dialog no longer has the newest of them.

        Args:
            seen: The messages as they were recorded.
            is_first_pinned: The turn saw the first message in place of the oldest of the others.
        """
        if not seen.newest:
            return ()
        at = self._positions.get(seen.newest)
        if at is None:
            return None
        return tuple(newest_messages(self.messages[: at + 1], seen.count, is_first_pinned=is_first_pinned))

    def said(self, number: int, token: str, participant: str) -> tuple[Message, ...]:
        """Return the messages that a participant wrote in a turn."""
        return tuple(
            it
            for it in self.messages
            if it.turn_number == number and it.token_id == token and it.speaker == participant
        )
