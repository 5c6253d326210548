"""A reader of the live output of a session."""

from __future__ import annotations

import threading
from collections.abc import Iterator

from live import until
from scaling import patient
from symposia.models.protocol.dialog import Message
from symposia.models.turns.streaming import Delta, Drafts


class Reader:
    """Reads along in a thread, as a user's program would."""

    def __init__(self, pieces: Iterator[Delta | Message]) -> None:
        self.drafts = Drafts()
        self.seen: list[str] = []
        self.written: list[str] = []
        self._thread = threading.Thread(target=self._read, args=(pieces,), daemon=True)
        self._thread.start()

    def _read(self, pieces: Iterator[Delta | Message]) -> None:
        for piece in pieces:
            if isinstance(piece, Message):
                self.drafts.remove(piece.turn_number)
                self.written.append(piece.content)
            else:
                self.drafts.add(piece)
                self.seen.append("|".join(draft.text for draft in self.drafts))

    def sees(self, text: str) -> None:
        until(lambda: text in self.seen, timeout_s=90, what=f"{text!r} is seen, not only {self.seen}")

    def finish(self) -> list[str]:
        self._thread.join(patient(90))
        assert not self._thread.is_alive()
        return self.written
