"""The work of a peer: conversations of two agents that answer one word at once."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass

#: What both agents answer.
WORD = "word"
AGENTS = ("ann", "bob")


@dataclass
class Work:
    """Conversations that have `history` messages already, and take `turns` turns each."""

    peer: str
    sessions: int
    turns: int
    history: int
    #: Seconds after which the conversations end early.
    seconds: float
    #: Empty folder for files, and the URL of the server, if the peer needs one.
    folder: str
    url: str
    #: Whether SQLite may write to disk later than at each commit.
    relaxed: bool
    _deadline: float = float("inf")

    @property
    def messages(self) -> list[str]:
        """The messages that a conversation has before its turns."""
        return [f"Message {number} of the dialog so far." for number in range(self.history)]

    def begin(self) -> None:
        """Start the time limit."""
        self._deadline = time.monotonic() + self.seconds

    def is_over(self) -> bool:
        """Return whether the time limit has passed."""
        return time.monotonic() > self._deadline


#: Prepares the conversations; `run` takes their turns and returns the number of turns taken.
Prepare = Callable[[Work], AbstractContextManager[Callable[[], int]]]


def read_work() -> Work:
    """Return the work that the command line describes."""
    parser = argparse.ArgumentParser()
    parser.add_argument("peer")
    for name in ("sessions", "turns", "history"):
        parser.add_argument(f"--{name}", type=int, required=True)
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--folder", required=True)
    parser.add_argument("--url", default="")
    parser.add_argument("--relaxed", action="store_true")
    return Work(**vars(parser.parse_args()))
