"""The summary comment of a pull request: result, risk, files to read first, and what changed. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from ....models.severity import Severity
from ....models.text.words import count_of
from ...values.findings import Finding
from ...values.runs import ItemState, ReviewRun, RunState, headline
from ..payload import by_weight, take_fitting
from .comments import plain_text
from .diff import FileDiff
from .markers import SummaryMarker

#: Maximum characters of a summary; GitHub takes 65,536.
MAX_SUMMARY = 60_000
#: Maximum characters of a finding's message in the summary.
_MAX_LISTED_MESSAGE = 500
#: Maximum files to read first, and files in the table of changes.
MAX_READ_FIRST, MAX_LISTED_FILES = 5, 50
#: Changed lines above which a pull request is hard to review.
_MANY_LINES = 400
#: What changes of paths with these parts may affect.
_EFFECTS = {
    effect: re.compile(pattern, re.IGNORECASE)
    for effect, pattern in (
        ("access", r"(^|[/_.-])(auth|login|permissions?|security|crypto|secrets?|tokens?|session)"),
        ("stored data", r"(^|/)(migrations?|alembic|schema)(/|\.|$)"),
        ("payments", r"(^|/)(payments?|billing|invoices?)"),
        ("deployment", r"(^|/)(\.github/workflows|\.gitlab-ci|dockerfile|deploy|terraform|k8s|helm)"),
        ("dependencies", r"(^|/)(requirements[^/]*\.txt|pyproject\.toml|package\.json|go\.mod|cargo\.toml)$"),
    )
}


def summary_body(
    run: ReviewRun,
    elsewhere: Sequence[Finding],
    *,
    commented: int,
    files: Mapping[str, FileDiff] | None = None,
) -> str:
    """Return the summary.

    Args:
        run: The run, with paths relative to the repository.
        elsewhere: Open findings without a comment.
        commented: Number of open findings with one.
        files: Diff of the pull request by path.
    """
    lines = list(_lines(run, elsewhere, commented, files or {}))
    kept = list(take_fitting(lines, MAX_SUMMARY, lambda line: len(line) + 1))
    if len(kept) < len(lines):
        kept.append("\n…")
    return "\n".join([*kept, "", str(SummaryMarker.of(run))])


def _lines(
    run: ReviewRun, elsewhere: Sequence[Finding], commented: int, files: Mapping[str, FileDiff]
) -> Iterator[str]:
    yield f"### {plain_text(headline(run))}"
    yield ""
    if run.summary.strip():
        yield from (plain_text(run.summary), "")
    if run.verdict:
        yield from (plain_text(run.verdict), "")
    yield from _walkthrough(run, files)
    if commented:
        yield from (f"Findings with a comment on their line: {commented}.", "")
    if elsewhere:
        yield from (f"Findings without a comment on their line: {len(elsewhere)}.", "")
        yield from map(_list_line, elsewhere)
        yield ""
    for result in run.results:
        if result.state is ItemState.FAILED:
            yield f"- Not reviewed: {plain_text(result.item.path)}: {plain_text(result.error)}"
    revision = f" Reviewed commit: {plain_text(run.revision[:12])}." if run.revision else ""
    state = "" if run.state is RunState.COMPLETED else f" State: {run.state.value}."
    yield f"\nReview {plain_text(run.id[:8])}.{revision}{state}"


def _list_line(finding: Finding) -> str:
    message = plain_text(finding.message, most=_MAX_LISTED_MESSAGE)
    return f"- **{finding.severity.value}** {plain_text(finding.place)} {plain_text(finding.rule)}: {message}"


def _walkthrough(run: ReviewRun, files: Mapping[str, FileDiff]) -> Iterator[str]:
    """Yield the risk, the files to read first, and the changed files."""
    if not files:
        return
    counts = {path: file.changed for path, file in files.items()}
    # The last of a path counts: its most severe finding.
    worst = {finding.path: finding.severity for finding in reversed(by_weight(run.open_findings))}
    yield from (f"**Risk: {_risk(run, counts)}**", "")
    first = sorted(counts, key=lambda path: _reading_order(path, counts[path], worst.get(path)))
    yield from ("Read first:", "")
    for path in first[:MAX_READ_FIRST]:
        yield f"1. {plain_text(path)}: {_why(path, counts[path], worst.get(path))}"
    yield from ("", f"<details><summary>Changed files: {len(files)}</summary>", "")
    for path in first[:MAX_LISTED_FILES]:
        yield f"- {plain_text(path)} {_change(files[path])}"
    if len(first) > MAX_LISTED_FILES:
        yield f"- and {len(first) - MAX_LISTED_FILES} more"
    yield from ("", "</details>", "")


def _risk(run: ReviewRun, counts: Mapping[str, tuple[int, int]]) -> str:
    """Return the level of risk with its reasons: the worst finding, sensitive files, the number of lines."""
    lines = sum(added + removed for added, removed in counts.values())
    effects = Counter(effect for path in counts if (effect := _effect(path)))
    worst = max(
        (finding.severity for finding in run.open_findings), key=lambda level: level.rank, default=None
    )
    reasons = [f"worst finding: {worst.value}"] if worst else []
    reasons += [f"changes {', '.join(effects)}"] if effects else []
    reasons.append(count_of(lines, "changed line", spec=","))
    if worst is not None and worst.at_least(Severity.HIGH):
        level = "high"
    else:
        level = "medium" if worst or effects or lines > _MANY_LINES else "low"
    return f"{level} ({'; '.join(reasons)})"


def _effect(path: str) -> str:
    return next((effect for effect, pattern in _EFFECTS.items() if pattern.search(path)), "")


def _reading_order(path: str, count: tuple[int, int], worst: Severity | None) -> tuple[object, ...]:
    return (-1 if worst is None else -worst.rank - 2, not _effect(path), -sum(count), path)


def _why(path: str, count: tuple[int, int], worst: Severity | None) -> str:
    reasons = [f"{worst.value} finding"] if worst else []
    reasons += [effect] if (effect := _effect(path)) else []
    return ", ".join([*reasons, count_of(sum(count), "changed line", spec=",")])


def _change(file: FileDiff) -> str:
    added, removed = file.changed
    renamed = f", renamed from {plain_text(file.old_path)}" if file.old_path != file.path else ""
    return f"(+{added} -{removed}{', deleted' if file.is_deleted else renamed})"
