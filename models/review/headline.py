"""One-line summary of a run for terminals, histories, mails and programs. Pure."""

from __future__ import annotations

from ..text.redact import one_line
from .counts import format_counts
from .findings import FindingStatus
from .runs import ReviewRun, RunState

_CHANGES = (FindingStatus.NEW, FindingStatus.GONE, FindingStatus.SUPPRESSED)


def headline(run: ReviewRun) -> str:
    """Return one line: root and reviewers, state if not completed, open findings, and changes."""
    state = "" if run.state is RunState.COMPLETED else f", {run.state.value}"
    found = format_counts(run.open_findings) or "no findings"
    changes = ", ".join(
        f"{count} {status.value}"
        for status in _CHANGES
        if (count := sum(it.status is status for it in run.findings))
    )
    told = f"Review of {run.root_name} by {run.panel}{state}: {found}"
    return one_line(f"{told} ({changes})" if changes else told)
