"""A round of sessions: at which pace it runs, and what came of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from chaos.audit.evidence import Call, Evidence
from chaos.script import Finding


@dataclass(frozen=True)
class Pace:
    """The settings that decide how long a fault is felt; seconds."""

    lease_s: float = 1.0
    grace_s: float = 1.0
    sweep_s: float = 0.1


@dataclass
class Round:
    """What came of a round."""

    sessions: int = 0
    turns: int = 0
    #: Late commits that were refused.
    refused: int = 0
    #: Turns begun again after the lease of whoever spoke them had run out.
    takeovers: int = 0
    #: Steps of canvases, and sessions with `on_end`, that have ended.
    outcomes: int = 0
    #: Runs of the tasks after them, by their ids.
    runs: Counter[str] = field(default_factory=Counter)
    longest_silence_ms: int = 0
    findings: list[Finding] = field(default_factory=list)
    evidence: dict[str, Evidence] = field(default_factory=dict)
    #: Session -> nonce -> call of an agent.
    calls: Mapping[str, Mapping[str, Call]] = field(default_factory=dict)
    #: For each fault, in the order given, whether it befell.
    befell: list[bool] = field(default_factory=list)
    #: The most messages in the queue for each session that was open, while all waited; None: nobody counted.
    queued: float | None = None
