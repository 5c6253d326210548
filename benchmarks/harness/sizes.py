"""The sizes of a run: `short` for a few minutes, `full` for the complete table, `tiny` for tests."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Sizes:
    """Numbers that cases use. Turns are multiples of 4, the width of the parallel modes."""

    repeats: int
    #: Sessions side by side, and turns of each.
    sessions: int
    turns: int
    #: Turns of the one session of a case without other load.
    alone: int
    #: Messages in the dialog before the turns that are measured.
    lengths: tuple[int, ...]
    participants: tuple[int, ...]
    #: Turns of sessions whose requests to models are counted.
    dialogs: tuple[int, ...]
    #: Participants of a broadcast, and items of a swarm's board.
    width: int
    board: int
    #: Sessions that wait for a person, and sessions that run beside them.
    parked: int
    active: int
    #: Seconds for which an idle worker is observed.
    idle_s: float
    #: Sessions that are submitted, swept, archived, or whose bytes are counted.
    many: int
    processes: tuple[int, ...]
    #: Sessions whose agents wait, and for how many seconds.
    waiting: int
    wait_s: float


SHORT = Sizes(
    repeats=3,
    sessions=50,
    turns=12,
    alone=120,
    lengths=(10, 1_000),
    participants=(2, 64),
    dialogs=(20, 200),
    width=64,
    board=100,
    parked=500,
    active=50,
    idle_s=5,
    many=50,
    processes=(1, 2),
    waiting=100,
    wait_s=2,
)
FULL = Sizes(
    repeats=5,
    sessions=50,
    turns=20,
    alone=300,
    lengths=(10, 100, 1_000, 10_000),
    participants=(2, 4, 16, 64),
    dialogs=(20, 200, 1_000),
    width=64,
    board=1_000,
    parked=9_900,
    active=100,
    idle_s=20,
    many=200,
    processes=(1, 2, 4),
    waiting=500,
    wait_s=2,
)
TINY = Sizes(
    repeats=1,
    sessions=2,
    turns=4,
    alone=8,
    lengths=(4, 12),
    participants=(2, 5),
    dialogs=(8,),
    width=4,
    board=8,
    parked=4,
    active=2,
    idle_s=0.2,
    many=3,
    processes=(2,),
    waiting=4,
    wait_s=0.1,
)
SIZES = {"short": SHORT, "full": FULL, "tiny": TINY}
