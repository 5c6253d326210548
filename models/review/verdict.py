"""Summary of findings in one line: their number, the first to fix, and who found them. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from .counts import format_counts
from .findings import Finding


def summarise_findings(
    findings: Sequence[Finding], *, where: Callable[[Finding], str] = lambda it: it.place
) -> str:
    """Return the verdict on some findings; empty without findings. `where` formats the place of the worst."""
    if not findings:
        return ""
    found = Counter(agent for it in findings for agent in it.agents)
    return " ".join(
        [
            f"{len(findings)} to fix: {format_counts(findings)}.",
            _worst(findings, where),
            *(f"{agent} found {count}." for agent, count in found.items()),
        ]
    )


def _worst(findings: Sequence[Finding], where: Callable[[Finding], str]) -> str:
    worst = max(findings, key=lambda it: (it.severity.rank, it.confidence, -it.start_line))
    place = (worst.path, worst.start_line)
    agreed = {agent for it in findings if (it.path, it.start_line) == place for agent in it.agents}
    also = f", found by {len(agreed)} agents" if len(agreed) > 1 else ""
    message = " ".join(worst.message.split())
    return f"Most severe: {where(worst)}{also}: {message}{'' if message[-1] in '.!?' else '.'}"
