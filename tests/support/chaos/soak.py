"""The long form of the fault suite: round after round of random sessions and random faults, and a report.

    python -m chaos.soak --minutes 30 --seed 7

Every second arena has RabbitMQ for its broker, where one is installed; `--broker` chooses one.

Round k of a run has seed + k as its own seed, so `--seed` of a bad round, with `--minutes 0`, is
that round again: the same sessions and the same faults, in a new order of events.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from random import Random, SystemRandom
from shutil import rmtree
from tempfile import mkdtemp
from traceback import format_exc

from chaos.arena import Arena, Broker
from chaos.audit.evidence import Evidence
from chaos.faults.catalogue import FAULTS, faults_for
from chaos.machinery.skew import AHEAD
from chaos.plays import NAMED, plays, waiting_plays
from chaos.recovery import percentile, recover, recovery_arena
from chaos.report import Tally
from chaos.rounds import Pace, Round
from chaos.script import Finding
from chaos.waiting import run_waiting
from servers.rabbit import MISSING, Rabbit, own_rabbit, program
from symposia.config.settings import Settings

#: Sessions of a round, and of one in which they wait behind a few busy slots: the second of every arena.
SESSIONS, WAITING = 90, 1_000
#: Milliseconds that an agent thinks, on average.
THINK_MS = 60
#: Lost messages are sent again after two seconds: sooner, a busy machine's queue would fill with them.
PACE = Pace(grace_s=2)
#: Seconds in which the archive has everything: whoever is killed while archiving holds its sessions for a minute.
ARCHIVED_S = 150.0
#: Rounds on the same servers and workers; then all is made anew.
ROUNDS_AN_ARENA = 20
#: Arenas in a row that could not be used: the machine is not fit for a soak.
HOPELESS = 5
CLOCK = "clock of a worker an hour ahead"
DEFAULT_LEASE, LOST_MACHINE = "worker killed, default lease", "machine lost, default lease"
#: Seconds in which 99 of 100 turns of a killed worker, and of a lost machine, begin again.
KILLED_S, MACHINE_S = 5.0, 10.0


@dataclass(frozen=True, slots=True)
class Storm:
    """What a soak was asked for."""

    #: `time.monotonic()` after which no further round begins.
    until_s: float
    #: Names of the faults to choose from.
    names: Sequence[str]
    #: Sessions of a round; None: the usual numbers.
    sessions: int | None
    #: They wait in every round.
    all_wait: bool
    #: Names of the only plays; none: all of them, and rounds of sessions that wait.
    plays: Sequence[str]
    #: Brokers of the arenas, in turn: None is Redis.
    brokers: Sequence[Rabbit | None]


def say(text: str) -> None:
    """Print at once: a soak is watched, or interrupted."""
    print(text, flush=True)  # noqa: T201 - a program for the terminal


def main() -> int:
    """Runs the soak; 1 when anything was found."""
    options = _options()
    tally = Tally(options.seed)
    began = time.monotonic()
    folder = Path(mkdtemp(prefix="symposia-soak-"))
    say(f"soak: seed {options.seed}, {options.minutes:g} min, in {folder}")
    try:
        _measure_recovery(folder, tally, kills=min(3, int(options.minutes // 2)))
        names = options.fault or list(FAULTS)
        with _brokers(options.broker) as brokers:
            until_s = began + options.minutes * 60
            storm = Storm(until_s, names, options.sessions, options.waiting, options.play or (), brokers)
            _run(storm, folder, tally)
    except KeyboardInterrupt:
        say("interrupted")
    tally.seconds = time.monotonic() - began
    say(f"\n{tally.table()}")
    if options.into:
        fill(options.into, tally.table())
    if tally.is_clean:
        rmtree(folder, ignore_errors=True)
    else:
        seeds = ", ".join(map(str, tally.bad_seeds)) or "none"
        more = "ARGS='--broker amqp' for a round over amqp, ARGS=--waiting for one of waiting sessions"
        say(f"\nFAILED. Again: make soak MINUTES=0 SEED=... with one of {seeds} ({more}); logs in {folder}")
    return 0 if tally.is_clean else 1


def fill(page: Path, table: str) -> None:
    """Puts the table between the marks of a page."""
    before, begin, rest = page.read_text().partition("<!-- soak:")
    mark, _, rest = rest.partition("-->")
    _, end, after = rest.partition("<!-- /soak -->")
    page.write_text(f"{before}{begin}{mark}-->\n\n{table}\n\n{end}{after}")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="soak", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=30, help="how long; 0 is one round")
    parser.add_argument("--seed", type=int, default=SystemRandom().randrange(10**6) * 10_000)
    parser.add_argument("--sessions", type=int, help=f"of a round ({SESSIONS}; {WAITING} where they wait)")
    parser.add_argument(
        "--waiting", action="store_true", help="sessions wait behind busy slots in every round"
    )
    parser.add_argument("--play", action="append", choices=NAMED, help="only these; may be repeated")
    parser.add_argument("--into", type=Path, help="a page whose place for the soak's table is filled")
    parser.add_argument("--broker", choices=("redis", "amqp"), help="of every arena; default: both, in turn")
    parser.add_argument("--fault", action="append", choices=FAULTS, help="only these; may be repeated")
    return parser.parse_args()


@contextmanager
def _brokers(wanted: str | None) -> Iterator[Sequence[Rabbit | None]]:
    """What carries the messages of the arenas, in turn."""
    node_program = program()
    if wanted == "redis" or node_program is None:
        if wanted == "amqp":
            raise SystemExit(MISSING)
        if wanted is None:
            say(f"only Redis carries messages: {MISSING}")
        yield [None]
        return
    with own_rabbit(node_program) as node:
        yield [node] if wanted == "amqp" else [None, node]


@contextmanager
def _arena(folder: Path, node: Rabbit | None) -> Iterator[Arena]:
    with ExitStack() as stack:
        broker = None if node is None else Broker(node, stack.enter_context(node.virtual_host()))
        yield stack.enter_context(Arena(folder, courier=broker is None, broker=broker, pace=PACE))


def _measure_recovery(folder: Path, tally: Tally, *, kills: int) -> None:
    if not kills:
        return
    defaults = Settings()
    pace = Pace(defaults.lease_s, defaults.redispatch_after_s, defaults.sweep_interval_s)
    with _survived(tally), recovery_arena(folder / "recovery", pace=pace) as arena:
        random = Random(tally.seed)  # one for all: a second one would give the same ids again
        for _ in range(kills):
            tally.waits_s += recover(arena, random)
            tally.machine_waits_s += recover(arena, random, with_heartbeat=True)
            tally.faults.update([DEFAULT_LEASE, LOST_MACHINE])
        say(f"stalls after a kill: {sorted(tally.waits_s)}, after a loss: {sorted(tally.machine_waits_s)}")
        tally.restarts += arena.restarts
        for waits_s, within_s in ((tally.waits_s, KILLED_S), (tally.machine_waits_s, MACHINE_S)):
            if percentile(waits_s, 99) > within_s:
                tally.findings["slow"] += 1


def _run(storm: Storm, folder: Path, tally: Tally) -> None:
    """Rounds until the time is up, at least one."""
    hopeless = 0
    brokers = cycle(storm.brokers)
    while hopeless < HOPELESS:
        rounds, findings = tally.rounds, tally.findings.total()
        own = folder / f"arena-{rounds}-{hopeless}"
        with _survived(tally), _arena(own, next(brokers)) as arena:
            _rounds(storm, arena, tally)
        if tally.findings.total() == findings:
            rmtree(own, ignore_errors=True)
        hopeless = 0 if tally.rounds > rounds else hopeless + 1
        if tally.rounds and time.monotonic() > storm.until_s:
            return
    say(f"gave up: {HOPELESS} arenas in a row could not be used")


def _rounds(storm: Storm, arena: Arena, tally: Tally) -> None:
    """Rounds in one arena, until something is found: it must not be found again in the next round."""
    _start(arena, tally)
    try:
        for number in range(ROUNDS_AN_ARENA):
            outcome = _one_round(
                storm, arena, tally, is_waiting=storm.all_wait or (number == 1 and not storm.plays)
            )
            if outcome.findings or time.monotonic() > storm.until_s:
                break
        for finding in arena.archived(timeout_s=ARCHIVED_S):
            tally.findings[finding.kind] += 1
            _tell(finding, None)
    finally:
        tally.restarts += arena.restarts


@contextmanager
def _survived(tally: Tally) -> Iterator[None]:
    """Report and count errors of an arena itself; the soak continues."""
    try:
        yield
    except Exception as error:  # noqa: BLE001 - told, and counted as a finding
        tally.findings["harness"] += 1
        say(f"  the arena failed: {type(error).__name__}: {error}\n{format_exc()}")


def _start(arena: Arena, tally: Tally) -> None:
    """Two workers of threads, one of which is an hour ahead, and one of child processes."""
    crew = [arena.member("w1"), arena.member("w2", **AHEAD), arena.member("w3", "--pool", "processes")]
    arena.crew.start(crew)
    tally.faults[CLOCK] += 1


def _one_round(storm: Storm, arena: Arena, tally: Tally, *, is_waiting: bool) -> Round:
    seed = tally.seed + tally.rounds
    random = Random(seed)
    names = faults_for(storm.names, rabbit=arena.broker is not None, counted=is_waiting)
    chosen = random.sample(names, min(len(names), random.randint(3, 5)))
    faults = [FAULTS[name] for name in chosen]
    began = time.monotonic()
    arena.crew.wait_ready()
    if is_waiting:
        outcome = run_waiting(arena, waiting_plays(random, storm.sessions or WAITING), faults, seed=seed)
    else:
        sessions = plays(random, storm.sessions or SESSIONS, storm.plays)
        outcome = arena.run(sessions, faults, seed=seed, think_ms=THINK_MS)
    outcome.findings += arena.archived()
    outcome.findings += arena.archived()
    tally.add(outcome, chosen, seed=seed)
    say(
        f"round {tally.rounds}, seed {seed}{' over amqp' if arena.broker else ''}: {outcome.sessions} sessions"
        f"{' that wait' if is_waiting else ''}, {outcome.turns} turns, "
        f"{time.monotonic() - began:.1f} s, {len(outcome.findings)} findings; {'; '.join(chosen)}",
    )
    for finding in outcome.findings[:10]:
        _tell(finding, outcome.evidence.get(finding.session))
    return outcome


def _tell(finding: Finding, evidence: Evidence | None) -> None:
    say(f"  {finding.kind}: session {finding.session}: {finding.says}")
    if evidence is not None:
        for step in evidence.steps:
            say(f"    {step}")
        say(f"    journal: {[entry.says for entry in evidence.journal]}")


if __name__ == "__main__":
    sys.exit(main())
