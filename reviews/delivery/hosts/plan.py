"""Changes of the comments on a pull request: which to create, to edit and to resolve. Pure.

A comment belongs to a finding by its fingerprint. If several findings have the same one, comments are matched by
their line first. So a delivery that is repeated, or continued after its worker was killed, changes nothing twice.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from ...values.findings import Finding
from ...values.runs import ItemState, ReviewRun
from ..deliveries_file import CodeHostEntry
from ..payload import by_weight
from .comments import FindingMarker, SuggestionTag, finding_body, gone_body, series_of
from .diff import Anchor, FileDiff, find_anchor


@dataclass(frozen=True, slots=True)
class ExistingComment:
    """Comment of an earlier delivery."""

    comment_id: str
    thread_id: str
    marker: FindingMarker
    body: str
    path: str
    #: Its line in the current diff; None: the line is not in it any more.
    line: int | None
    is_resolved: bool


@dataclass(frozen=True, slots=True)
class NewComment:
    """Comment to create."""

    finding: Finding
    anchor: Anchor
    body: str


@dataclass(frozen=True, slots=True)
class CommentEdit:
    """Comment to edit."""

    comment: ExistingComment
    body: str
    #: New state of its thread; None: unchanged.
    resolve: bool | None = None


@dataclass(frozen=True, slots=True)
class CommentPlan:
    """All changes of the comments."""

    create: Sequence[NewComment]
    edit: Sequence[CommentEdit]
    #: Open findings without a comment, most severe first.
    elsewhere: Sequence[Finding]
    #: Number of open findings that have a comment already.
    kept: int


def plan_comments(
    run: ReviewRun,
    files: Mapping[str, FileDiff],
    existing: Sequence[ExistingComment],
    entry: CodeHostEntry,
    *,
    tag: SuggestionTag,
) -> CommentPlan:
    """Return the changes that make the comments of a series fit the run, whose paths are relative to the repository."""
    findings = _distinct(by_weight(run.open_findings))
    matched = _match(findings, existing)
    create: list[NewComment] = []
    edit: list[CommentEdit] = []
    elsewhere: list[Finding] = []
    for finding in findings:
        comment, anchor = matched.get(id(finding)), find_anchor(finding, files)
        body = finding_body(finding, anchor, series=series_of(run), tag=tag)
        if comment is not None:
            edit += _edit_open(comment, body, anchor)
        elif (
            anchor is not None
            and finding.severity.at_least(entry.comments_from)
            and len(matched) + len(create) < entry.max_comments
        ):
            create.append(NewComment(finding, anchor, body))
        else:
            elsewhere.append(finding)
    taken = {comment.comment_id for comment in matched.values()}
    edit += _edits_of_gone(run, files, [comment for comment in existing if comment.comment_id not in taken])
    return CommentPlan(create, edit, elsewhere, len(matched))


def _distinct(findings: Sequence[Finding]) -> list[Finding]:
    """Return the findings without those that are equal to another one in the same line."""
    return list(
        {(finding.fingerprint, finding.start_line): finding for finding in reversed(findings)}.values()
    )[::-1]


def _match(findings: Sequence[Finding], existing: Sequence[ExistingComment]) -> dict[int, ExistingComment]:
    """Return the comments of findings by the identity of the finding: equal ones are different findings."""
    free: defaultdict[str, list[ExistingComment]] = defaultdict(list)
    for comment in sorted(existing, key=lambda candidate: (candidate.marker.is_gone, candidate.line is None)):
        free[comment.marker.fingerprint].append(comment)
    matches: dict[int, ExistingComment] = {}
    for finding in findings:
        on_same_line = [
            candidate for candidate in free[finding.fingerprint] if candidate.line == finding.start_line
        ]
        if on_same_line:
            matches[id(finding)] = on_same_line[0]
            free[finding.fingerprint].remove(on_same_line[0])
    for finding in findings:
        if id(finding) not in matches and free[finding.fingerprint]:
            matches[id(finding)] = free[finding.fingerprint].pop(0)
    return matches


def _edit_open(comment: ExistingComment, body: str, anchor: Anchor | None) -> list[CommentEdit]:
    """Return the edit of a comment whose finding is open; a thread that people have resolved stays resolved."""
    if comment.marker.is_gone:
        return [CommentEdit(comment, body, resolve=False)]
    if anchor is None or anchor.start != comment.line or is_same_body(comment.body, body):
        return []  # a suggestion would replace other lines than those below which the comment is shown
    return [CommentEdit(comment, body)]


def _edits_of_gone(
    run: ReviewRun, files: Mapping[str, FileDiff], unmatched: Sequence[ExistingComment]
) -> list[CommentEdit]:
    """Return the edits of comments whose finding is gone: its file was reviewed, or is unchanged now."""
    reviewed: Collection[str] = {
        result.item.path for result in run.results if result.state in (ItemState.DONE, ItemState.UNCHANGED)
    }
    return [
        CommentEdit(comment, gone_body(comment.body, comment.marker, revision=run.revision), resolve=True)
        for comment in unmatched
        if not comment.marker.is_gone and (comment.path in reviewed or comment.path not in files)
    ]


def find_duplicates(existing: Sequence[ExistingComment]) -> list[ExistingComment]:
    """Return all but the first of the open comments about the same finding on the same line."""
    seen: set[tuple[str, int]] = set()
    duplicates: list[ExistingComment] = []
    for comment in existing:
        if comment.line is not None and not comment.marker.is_gone:
            key = (comment.marker.fingerprint, comment.line)
            duplicates += [comment] if key in seen else []
            seen.add(key)
    return duplicates


def is_same_body(one: str, other: str) -> bool:
    """Return whether two bodies are the same; code hosts may change ends of lines and of the text."""
    return one.replace("\r\n", "\n").strip() == other.replace("\r\n", "\n").strip()
