"""Count the modules that a submit and a turn enter, and how often they enter one again.

    python benchmarks/walk.py
    python benchmarks/walk.py --list    # with the modules

The counts do not depend on the speed of the machine. They measure how many places a reader visits who follows one
submit, or one turn of a Python agent in round robin, through the code.
"""

from __future__ import annotations

import argparse
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType

from symposia import LocalClient
from symposia.tasks.run_turn import handle_turn_message

COLLAB = {
    "title": "Walk",
    "purpose": "Say something.",
    "mode": "round_robin",
    "participants": [{"participant_id": "ada"}, {"participant_id": "ben"}],
}
TURNS = 6


@dataclass
class Walk:
    """The modules that are entered, in order."""

    entered: list[str] = field(default_factory=list)

    def record(self, frame: FrameType, event: str, _argument: object) -> None:
        """Record a call into another module of the package; a function for `sys.setprofile`."""
        name = str(frame.f_globals.get("__name__"))
        if event == "call" and name.startswith("symposia.") and self.entered[-1:] != [name]:
            self.entered.append(name)

    @property
    def modules(self) -> set[str]:
        """Modules that were entered."""
        return set(self.entered)

    @property
    def returns(self) -> int:
        """Number of times a module was entered that had been entered before."""
        return len(self.entered) - len(self.modules)

    def __str__(self) -> str:
        return f"{len(self.modules)} modules, entered again {self.returns} times"


@contextmanager
def recorded(walk: Walk) -> Iterator[None]:
    """Record the calls of this thread."""
    sys.setprofile(walk.record)
    try:
        yield
    finally:
        sys.setprofile(None)


class TurnWalks:
    """Walks of the turns of all threads: one for each call of `handle_turn_message`."""

    def __init__(self) -> None:
        self.walks: list[Walk] = []
        self._here = threading.local()

    def record(self, frame: FrameType, event: str, argument: object) -> None:
        """Record the calls below `handle_turn_message`; a function for `threading.setprofile`."""
        if frame.f_code is handle_turn_message.__code__:
            if event == "call":
                self._here.walk = Walk()
                self.walks.append(self._here.walk)
            elif event == "return":
                self._here.walk = None
        if (walk := getattr(self._here, "walk", None)) is not None:
            walk.record(frame, event, argument)


def measure() -> tuple[Walk, list[Walk]]:
    """Run a session in this process; return the walks of its submit and of its turns.

    The first turn is left out: it builds what later ones use.
    """
    turns, submit = TurnWalks(), Walk()
    threading.setprofile(turns.record)
    try:
        with LocalClient(
            {"ada": lambda turn: f"Yes, {turn.turn_number}.", "ben": lambda turn: f"No, {turn.turn_number}."}
        ) as client:
            client.submit(COLLAB, stop={"max_turns": 1}).result()
            turns.walks.clear()
            with recorded(submit):
                job = client.submit(COLLAB, stop={"max_turns": TURNS})
            job.result()
    finally:
        threading.setprofile(None)  # type: ignore[arg-type] - as its documentation says
    return submit, turns.walks


def main() -> None:
    """Print the counts."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--list", action="store_true", help="list the modules, too")
    options = parser.parse_args()
    submit, turns = measure()
    for name, walk in [("submit", submit), *((f"turn {n}", turn) for n, turn in enumerate(turns, 1))]:
        print(f"{name:8}{walk}")
        if options.list:
            print(*(f"          {module}" for module in sorted(walk.modules)), sep="\n")


if __name__ == "__main__":
    main()
