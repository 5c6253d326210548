"""Changes that make the comments on a pull request fit a run. Pure.

Comments are found by place and kind of their finding (`values.identity`), so a finding in other words, on a moved or
an edited line keeps its thread. A comment is gone only if this run has looked at its place. A delivery that is
repeated, or continued after its worker was killed, changes nothing twice.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ...values.decisions import parse_answer
from ...values.findings import Finding, FindingStatus, Side, snippet_sha
from ...values.identity import FindingIdentity, match_identities
from ...values.runs import Item, ItemState, ReviewRun
from ..deliveries_file import CodeHostEntry
from ..payload import by_weight
from .comments import SuggestionTag, finding_body, gone_body, is_suppressed_body
from .diff import Anchor, FileDiff, find_anchor
from .markers import FindingMarker, series_of


@dataclass(frozen=True, slots=True)
class PersonAnswer:
    """Answer in a thread, of a person who may change the repository."""

    id: str
    by: str
    text: str
    #: RFC 3339.
    at: str


@dataclass(frozen=True, slots=True)
class ExistingComment:
    """Comment of an earlier delivery."""

    comment_id: str
    thread_id: str
    marker: FindingMarker
    body: str
    path: str
    #: Its first line in the current diff; None: the line is not in it any more.
    line: int | None
    is_resolved: bool
    #: Its last line, the same as `line` for one line.
    end_line: int | None = None
    #: Who resolved the thread; empty: it is open, or the token's user or a person without permission has resolved it.
    resolved_by: str = ""
    answers: Sequence[PersonAnswer] = ()
    #: Ids of the answers that were answered.
    replied: Collection[str] = ()

    @property
    def identity(self) -> FindingIdentity:
        """Place and kind of its finding, where the comment is now."""
        return replace(self.marker.identity, path=self.path, line=self.line)


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
    #: Comments about findings that are not settled, whose place this run has not looked at.
    not_reviewed: Sequence[ExistingComment] = ()


def plan_comments(
    run: ReviewRun,
    files: Mapping[str, FileDiff],
    existing: Sequence[ExistingComment],
    entry: CodeHostEntry,
    *,
    tag: SuggestionTag,
) -> CommentPlan:
    """Return the changes that make the comments of a series fit the run, whose paths are relative to the repository."""
    pairs = match_comments(run, files, existing)
    create: list[NewComment] = []
    edit: list[CommentEdit] = []
    elsewhere: list[Finding] = []
    kept = sum(finding.is_open and comment is not None for finding, comment in pairs)
    for finding, comment in pairs:
        anchor = find_anchor(finding, files)
        if comment is not None:
            edit += _edits(run, finding, comment, anchor, tag=tag)
        elif not finding.is_open:
            continue
        elif (
            anchor is not None
            and finding.severity.at_least(entry.comments_from)
            and kept + len(create) < entry.max_comments
        ):
            body = finding_body(finding, anchor, series=series_of(run), tag=tag)
            create.append(NewComment(finding, anchor, body))
        else:
            elsewhere.append(finding)
    taken = {comment.comment_id for _, comment in pairs if comment is not None}
    unmatched = [comment for comment in existing if comment.comment_id not in taken]
    gone = list(_edits_of_gone(run, files, unmatched))
    closed = {gone_edit.comment.comment_id for gone_edit in gone}
    not_reviewed = [
        comment for comment in unmatched if not (_is_settled(comment) or comment.comment_id in closed)
    ]
    return CommentPlan(create, [*edit, *gone], elsewhere, kept, not_reviewed)


def _is_settled(comment: ExistingComment) -> bool:
    """Return whether a finding is gone or suppressed, or a person who may has decided about it."""
    if comment.marker.is_gone or comment.resolved_by or is_suppressed_body(comment.body):
        return True
    # After `/ignore` the token's user has resolved the thread; a later run edits the comment.
    return comment.is_resolved and any(parse_answer(answer.text) for answer in comment.answers)


def match_comments(
    run: ReviewRun, files: Mapping[str, FileDiff], existing: Sequence[ExistingComment]
) -> list[tuple[Finding, ExistingComment | None]]:
    """Return the open findings, most severe first, then the suppressed ones, each with its comment."""
    reported = [finding for finding in run.findings if finding.status is not FindingStatus.GONE]
    findings = sorted(_distinct(by_weight(reported)), key=lambda finding: not finding.is_open)
    comments = sorted(existing, key=lambda comment: (comment.marker.is_gone, comment.line is None))
    matches = match_identities(
        list(map(FindingIdentity.of, findings)), [_current_identity(comment, files) for comment in comments]
    )
    return [
        (finding, comments[matches[at]] if at in matches else None) for at, finding in enumerate(findings)
    ]


def _current_identity(comment: ExistingComment, files: Mapping[str, FileDiff]) -> FindingIdentity:
    """Return the identity of a comment; the host may still name the earlier path of a renamed file."""
    if comment.path in files:
        return comment.identity
    new_path = next((file.path for file in files.values() if file.old_path == comment.path), comment.path)
    return replace(comment.identity, path=new_path)


def _distinct(findings: Sequence[Finding]) -> list[Finding]:
    """Return the findings without those that are equal to another one in the same line."""
    return list(
        {(finding.fingerprint, finding.start_line): finding for finding in reversed(findings)}.values()
    )[::-1]


def _edits(
    run: ReviewRun,
    finding: Finding,
    comment: ExistingComment,
    anchor: Anchor | None,
    *,
    tag: SuggestionTag,
) -> Iterator[CommentEdit]:
    """Yield the edit of a comment whose finding is still reported; a thread that people have resolved stays resolved."""
    # A suggestion would replace the lines below which the comment is shown.
    is_in_place = anchor is not None and (anchor.start, anchor.end) == (comment.line, comment.end_line)
    body = finding_body(finding, anchor if is_in_place else None, series=series_of(run), tag=tag)
    is_same = is_same_body(comment.body, body)
    if finding.is_open:
        is_closed_by_us = comment.marker.is_gone or is_suppressed_body(comment.body)
        if not is_same:
            yield CommentEdit(comment, body, resolve=False if is_closed_by_us else None)
    elif finding.suppression is not None and not (is_same and comment.is_resolved):
        yield CommentEdit(comment, body, resolve=True)


def _edits_of_gone(
    run: ReviewRun, files: Mapping[str, FileDiff], unmatched: Sequence[ExistingComment]
) -> Iterator[CommentEdit]:
    """Yield the edits of comments whose finding is gone: this run has looked at its place."""
    reviewed = {
        result.item.path: result.item
        for result in run.results
        if result.state in (ItemState.DONE, ItemState.UNCHANGED)
    }
    # Models look at changed lines only, which the host knows better than the numbers of an earlier review.
    gone = [
        FindingIdentity.of(finding)
        for finding in run.findings
        if finding.status is FindingStatus.GONE and finding.category is None
    ]
    matches = match_identities([_current_identity(comment, files) for comment in unmatched], gone)
    for number, comment in enumerate(unmatched):
        is_gone = number in matches or _was_looked_at(comment, reviewed, files)
        if is_gone and not comment.marker.is_gone:
            body = gone_body(comment.body, comment.marker, revision=run.revision)
            yield CommentEdit(comment, body, resolve=True)


def _was_looked_at(
    comment: ExistingComment, reviewed: Mapping[str, Item], files: Mapping[str, FileDiff]
) -> bool:
    """Return whether this run has reviewed the place of a comment, or its text is not part of the change any more."""
    identity = _current_identity(comment, files)
    file, item = files.get(identity.path), reviewed.get(identity.path)
    if file is None or (file.is_deleted and identity.side is Side.RIGHT):
        return True
    if item is None:
        return False
    if not item.is_change or item.changed is None:
        return True
    line = comment.line or _line_with(identity, file)
    if line is None:
        return True
    if identity.side is Side.LEFT:
        return _shows_all_removed_lines(item, file)
    return any(first <= line <= end for first, end in item.changed)


def _shows_all_removed_lines(item: Item, file: FileDiff) -> bool:
    """Return whether the reviewers were shown all lines that the pull request removes from a file."""
    shown = {number for first, last in item.removed for number in range(first, last + 1)}
    return shown == {number for number, line in file.old_lines.items() if line.other_line is None}


def _line_with(identity: FindingIdentity, file: FileDiff) -> int | None:
    """Return the number of the line with the text of a comment whose place the host has lost; None: there is none."""
    lines = file.side(identity.side).items()
    return next((number for number, line in lines if snippet_sha(line.text) == identity.anchor), None)


def find_duplicates(existing: Sequence[ExistingComment]) -> list[ExistingComment]:
    """Return all but the first of the open comments about the same finding on the same line."""
    seen: set[tuple[str, int]] = set()
    duplicates: list[ExistingComment] = []
    for comment in existing:
        if comment.line is not None and not comment.marker.is_gone:
            key = (comment.marker.identity.fingerprint, comment.line)
            duplicates += [comment] if key in seen else []
            seen.add(key)
    return duplicates


def is_same_body(one: str, other: str) -> bool:
    """Return whether two bodies are the same; code hosts may change ends of lines and of the text."""
    return one.replace("\r\n", "\n").strip() == other.replace("\r\n", "\n").strip()
