"""Turns per second by the size of a session: messages, participants, a wide broadcast, a large board."""

from __future__ import annotations

from collections.abc import Iterator

from harness.loads import WIDTH, Load, agents_of
from harness.registry import Bench, case
from harness.results import Measure


@case("length")
def length(bench: Bench) -> Iterator[Measure]:
    """Turns of sessions with 10 to 10,000 messages, whose agents read the newest 50."""
    turns = 2 * bench.sizes.alone // WIDTH * WIDTH
    agents = agents_of("round_robin", agent="reader")
    for messages in bench.sizes.lengths:
        yield from bench.compare(
            f"{messages:,} messages", Load("round_robin", 1, turns, agents, history=messages)
        )


@case("participants")
def participants(bench: Bench) -> Iterator[Measure]:
    """Turns of sessions with 2 to 64 participants."""
    for count in bench.sizes.participants:
        agents = agents_of("round_robin", count=count)
        load = Load("round_robin", bench.sizes.sessions, bench.sizes.turns, agents)
        yield from bench.compare(f"{count} participants", load)


@case("broadcast")
def broadcast(bench: Bench) -> Iterator[Measure]:
    """Broadcast to 64 participants, next to groups of 64 bare tasks."""
    width = bench.sizes.width
    rounds = max(bench.sizes.alone // width, 2)
    load = Load("broadcast", 2, width * rounds, agents_of("broadcast", count=width), width=width)
    yield from bench.compare(f"to {width}", load)


@case("board")
def board(bench: Bench) -> Iterator[Measure]:
    """A swarm with 1,000 items on its board."""
    yield from bench.compare(f"{bench.sizes.board:,} items", Load("swarm", 1, bench.sizes.board))
