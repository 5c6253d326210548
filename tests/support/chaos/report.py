"""The totals of a soak, as the table in docs/guarantees.md."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from chaos.recovery import percentile
from chaos.rounds import Round

#: Kinds of findings as the report calls them.
KINDS = {
    "lost": "turns lost",
    "doubled": "turns doubled",
    "stuck": "sessions stuck",
    "order": "turns out of order",
    "fence": "writers where another had the floor",
    "budget": "sums that do not add up",
    "record": "gaps in the record",
    "end": "wrong endings",
    "outcome": "steps of canvases without one outcome",
    "archive": "archives that differ",
    "queue": "queues longer than 1.2 messages a session",
    "slow": "recoveries slower than promised",
    "harness": "faults that could not be set up",
}


@dataclass
class Tally:
    """Counts over all rounds of a soak."""

    seed: int
    rounds: int = 0
    sessions: int = 0
    turns: int = 0
    refused: int = 0
    takeovers: int = 0
    restarts: int = 0
    longest_silence_ms: int = 0
    #: Steps of canvases, and sessions with `on_end`, that have ended; tasks after them that ran, and those that ran twice.
    outcomes: int = 0
    followed: int = 0
    repeated: int = 0
    #: For each round in which sessions waited, the most messages in the queue for each of them.
    queued: list[float] = field(default_factory=list)
    faults: Counter[str] = field(default_factory=Counter)
    findings: Counter[str] = field(default_factory=Counter)
    #: Seeds of the rounds in which something was found.
    bad_seeds: list[int] = field(default_factory=list)
    #: Seconds until the turns of a killed worker, and of a lost machine, were begun again, with default settings.
    waits_s: list[float] = field(default_factory=list)
    machine_waits_s: list[float] = field(default_factory=list)
    seconds: float = 0.0

    def add(self, outcome: Round, names: Sequence[str], *, seed: int) -> None:
        """Adds a round; `names` are those of its faults."""
        self.rounds += 1
        self.sessions += outcome.sessions
        self.turns += outcome.turns
        self.refused += outcome.refused
        self.takeovers += outcome.takeovers
        self.outcomes += outcome.outcomes
        self.followed += len(outcome.runs)
        self.repeated += sum(count > 1 for count in outcome.runs.values())
        self.longest_silence_ms = max(self.longest_silence_ms, outcome.longest_silence_ms)
        if outcome.queued is not None:
            self.queued.append(outcome.queued)
        self.faults.update(name for name, befell in zip(names, outcome.befell, strict=True) if befell)
        self.findings.update(finding.kind for finding in outcome.findings)
        if outcome.findings:
            self.bad_seeds.append(seed)

    @property
    def is_clean(self) -> bool:
        """Nothing was found."""
        return not self.findings

    def table(self) -> str:
        """All of it, in Markdown."""
        rows = [
            ("seed", str(self.seed)),
            ("time", f"{self.seconds / 60:.0f} min"),
            ("rounds", f"{self.rounds:,}"),
            ("sessions", f"{self.sessions:,}"),
            ("turns written", f"{self.turns:,}"),
            ("faults", f"{self.faults.total():,}"),
            *((says, f"{self.findings[kind]:,}") for kind, says in KINDS.items()),
            ("late writes refused", f"{self.refused:,}"),
            ("turns taken over", f"{self.takeovers:,}"),
            ("steps of canvases, and sessions with `on_end`", f"{self.outcomes:,}"),
            ("tasks after them", f"{self.followed:,}"),
            ("of these, lost in their run and repeated", f"{self.repeated:,}"),
            ("workers started again", f"{self.restarts:,}"),
            ("longest silence of a session", f"{self.longest_silence_ms / 1000:.1f} s"),
        ]
        if self.queued:
            rows.append(("rounds in which all sessions wait", f"{len(self.queued):,}"))
            rows.append(("their queue, most messages a session", f"{max(self.queued):.2f}"))
        if self.waits_s:
            rows.append(("turns of killed workers, default settings", f"{len(self.waits_s):,}"))
            rows += _stalls("their stall", self.waits_s)
        if self.machine_waits_s:
            rows.append(("turns of lost machines, default settings", f"{len(self.machine_waits_s):,}"))
            rows += _stalls("their stall on another machine", self.machine_waits_s)
        faults = [(name, f"{times:,}") for name, times in sorted(self.faults.items())]
        return _markdown(("soak", ""), rows) + "\n\n" + _markdown(("fault", "times"), faults)


def _stalls(name: str, waits_s: list[float]) -> list[tuple[str, str]]:
    values = {"p50": percentile(waits_s, 50), "p99": percentile(waits_s, 99), "max": max(waits_s)}
    return [(f"{name}, {which}", f"{value:.1f} s") for which, value in values.items()]


def _markdown(head: tuple[str, str], rows: Sequence[tuple[str, str]]) -> str:
    width = max(len(name) for name, _ in (head, *rows))
    lines = [f"| {head[0]:<{width}} | {head[1]:>10} |", f"|{'-' * (width + 2)}|{'-' * 11}:|"]
    return "\n".join([*lines, *(f"| {name:<{width}} | {value:>10} |" for name, value in rows)])
