"""What model agents send in long sessions: the identical beginning of requests, and what providers read from caches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from harness.errors import BenchmarkError
from harness.peers import is_installed
from harness.registry import Bench, case
from harness.results import Measure

if TYPE_CHECKING:
    from harness.prompts import Figures

#: Turns at which the bounds hold, and the windows in tokens. A shorter session fits the smallest window.
LONG = 200
WINDOWS = (16_000, 32_000, 64_000)
#: Least percent in the identical beginning by window, least percent read at marked points, greatest percent of the cost
#: of a client that only appends.
LEAST_SHARED = {16_000: 87.0, 32_000: 90.0, 64_000: 90.0}
LEAST_READ, MOST_COST = 88.0, 110.0


@case("prompts")
def prompts(bench: Bench) -> Iterator[Measure]:
    """Identical beginning of a model's requests, share read from a cache, and cost, in long sessions."""
    # With the packages of models.
    from harness.peer_requests import PEERS, record_peer
    from harness.prompts import ORDERS, count, record_requests

    for mode in ORDERS:
        for turns in bench.sizes.dialogs:
            for window in WINDOWS if turns >= LONG else WINDOWS[1:2]:
                figures = count(record_requests(mode, turns, window))
                name = f"{mode}, {turns} turns, {window // 1_000}k"
                if mode == "round_robin" and turns == LONG:
                    check_bounds(name, figures, window)
                yield bench.exact(name, "% identical", figures.shared_percent, more_is_better=True)
                yield bench.exact(name, "% cached", figures.read_percent, more_is_better=True)
                yield bench.exact(name, "% of the cost without a cache", figures.cost_percent)
                yield bench.exact(name, "kB sent a turn", figures.sent / turns / 1_000)
    for peer in PEERS if is_installed() and LONG in bench.sizes.dialogs else ():
        for window in WINDOWS:
            figures = count(record_peer(peer, LONG, window))
            name = f"{peer}, {LONG} turns, {window // 1_000}k"
            yield bench.exact(name, "% identical", figures.shared_percent, more_is_better=True)
            yield bench.exact(name, "kB sent a turn", figures.sent / LONG / 1_000)


def check_bounds(name: str, figures: Figures, window: int) -> None:
    """Check what holds for three agents.

    Raises:
        BenchmarkError: A bound does not hold.
    """
    is_wide = window > WINDOWS[0]
    if figures.shared_percent < LEAST_SHARED[window] or (is_wide and figures.read_percent < LEAST_READ):
        raise BenchmarkError(f"{name}: the identical beginning is too short: {figures}")
    if figures.appending_percent > MOST_COST:
        raise BenchmarkError(f"{name}: a client that only appends would cost less: {figures}")
