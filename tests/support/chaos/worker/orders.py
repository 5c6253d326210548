"""Orders to a worker at a boundary of a turn. An order is a file and is carried out once.

`Orders` gives them, `Obedience` is what the tests' worker app puts into its runtime.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from itertools import count
from pathlib import Path

from live import until
from symposia.tasks.runtime.runtime import Boundary

#: Boundaries of steps of canvases, as `Steps` names them; their folders begin with `STEP`.
STEP_BOUNDARIES = (
    "before-submit",
    "after-submit",
    "before-message",
    "after-message",
    "before-return",
    "before-finish",
)
STEP = "step "
_FOLDERS = (*Boundary, *(STEP + name for name in STEP_BOUNDARIES))
#: An order for any turn.
ANY = "any"
#: The file that names the sessions whose turns carry out orders.
SESSIONS = "sessions"
#: Seconds at most that a turn waits for whoever told it to.
MAX_WAIT_S = 30.0
#: Who dies must not take along an order that another turn of the process has half taken.
_TAKING = threading.Lock()


class Act(StrEnum):
    """What happens to the process that takes an order."""

    DIE = "die"
    FREEZE = "freeze"
    #: Only this turn stops, until the order is released.
    WAIT = "wait"


@dataclass(frozen=True, slots=True)
class Taken:
    """The worker that took an order, and its boundary."""

    pid: int
    session: str
    number: int


class Order:
    """One order, open until a worker takes it."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._taken = file.with_suffix(".taken")

    def taken(self, *, timeout_s: float, over: Callable[[], bool] = lambda: False) -> Taken | None:
        """Return the worker that took it, or None and withdraw it if no turn reached that boundary in time."""
        with suppress(AssertionError):
            until(lambda: self._taken.exists() or over(), timeout_s=timeout_s, what="an order is taken")
        with suppress(FileNotFoundError):
            self._file.unlink()
        if not self._taken.exists():
            return None
        pid, session, number = self._taken.read_text().split()
        return Taken(int(pid), session, int(number))

    def release(self) -> None:
        """Release a turn that waits."""
        self._taken.unlink(missing_ok=True)


class Orders:
    """The orders of a folder that workers look into."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._numbers = count(1)
        for boundary in _FOLDERS:
            (folder / boundary).mkdir(parents=True, exist_ok=True)
        self.only_for(())

    def only_for(self, sessions: Iterable[str]) -> None:
        """From now on only turns of these carry out orders: one of a session that is over may still be under way."""
        written = self._folder / "sessions.new"
        written.write_text("\n".join(sessions))
        written.rename(self._folder / SESSIONS)

    def give(self, boundary: str, act: Act, *, to: Taken | None = None) -> Order:
        """Order the next turn at the boundary to do it; with `to`, only the same turn as that one."""
        turn = f"{to.session} {to.number}" if to else ANY
        file = self._folder / boundary / f"{next(self._numbers)}.{act}.{turn}.open"
        file.touch()
        return Order(file)

    def withdraw(self) -> None:
        """Withdraw orders that are not carried out, and release all waiting turns."""
        for boundary in _FOLDERS:
            for file in (self._folder / boundary).iterdir():
                file.unlink(missing_ok=True)


class Obedience:
    """A `FaultHook` that carries out the orders of a folder."""

    def __init__(self, folder: Path) -> None:
        self._sessions = folder / SESSIONS
        self._folders = {boundary: folder / boundary for boundary in _FOLDERS}

    def at_step(self, name: str) -> None:
        """Carry out the orders for a boundary of any step."""
        for file in self._folders[STEP + name].iterdir():
            if file.suffix == ".open":
                self._take(file, Act(file.name.split(".")[1]), "-", 0)

    def __call__(self, boundary: Boundary, session: str, number: int) -> None:
        for file in self._folders[boundary].iterdir():
            _, act, turn, state = file.name.split(".")
            is_meant = state == "open" and turn in (ANY, f"{session} {number}")
            if is_meant and session in self._sessions.read_text().split():
                self._take(file, Act(act), session, number)

    def _take(self, file: Path, act: Act, session: str, number: int) -> None:
        claimed, taken = file.with_suffix(f".{os.getpid()}"), file.with_suffix(".taken")
        with _TAKING:
            try:
                file.rename(claimed)  # one process only gets it
            except FileNotFoundError:
                return
            claimed.write_text(f"{os.getpid()} {session} {number}")
            claimed.rename(taken)
            if act is Act.DIE:
                os.kill(os.getpid(), signal.SIGKILL)
        match act:
            case Act.FREEZE:
                os.kill(os.getpid(), signal.SIGSTOP)
            case Act.WAIT:
                deadline = time.monotonic() + MAX_WAIT_S
                while taken.exists() and time.monotonic() < deadline:
                    time.sleep(0.005)
