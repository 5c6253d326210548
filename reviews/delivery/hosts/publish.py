"""Delivery of a run to a pull request, the same on every code host.

The order makes a delivery safe to repeat after any interruption: what exists is read first, the summary says which
run is newest, threads are resolved before their comment says so, and the commit status comes last.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from ....models.errors import DeliveryFailed
from ....models.severity import Severity
from ....models.text.words import count_of
from ...values.decisions import Decision, repository_of, with_decisions
from ...values.findings import Finding
from ...values.runs import ItemResult, ReviewRun, RunState, headline
from ..deliveries_file import CodeHostEntry
from ..payload import ReportPayload
from .api import checked_answers
from .comments import severity_of_body
from .diff import Anchor, FileDiff
from .learning import learn_decisions
from .markers import SummaryMarker, series_of
from .plan import (
    CommentPlan,
    ExistingComment,
    NewComment,
    find_duplicates,
    is_same_body,
    plan_comments,
)
from .summary import summary_body

log = logging.getLogger(__name__)

#: Maximum characters of the name and the description of a commit status.
_MAX_NAME, _MAX_DESCRIPTION = 255, 140


@dataclass(frozen=True, slots=True)
class ExistingSummary:
    """Summary of an earlier delivery."""

    comment_id: str
    marker: SummaryMarker
    body: str


@dataclass(frozen=True, slots=True)
class PullState:
    """State of a pull request before a delivery, with the comments of the token's user."""

    head: str
    files: Mapping[str, FileDiff]
    comments: Sequence[ExistingComment]
    summaries: Sequence[ExistingSummary]


@dataclass(frozen=True, slots=True)
class CommitStatus:
    """Status of a commit: `has_passed` is None if the run did not complete."""

    name: str
    has_passed: bool | None
    description: str


class Decisions(Protocol):
    """Stored decisions of people about findings. All methods raise RedisUnavailable."""

    def of_repository(self, repository: str) -> Sequence[Decision]:
        """Return the decisions about a repository."""

    def add_decisions(self, decisions: Sequence[Decision]) -> None:
        """Store decisions."""


class PullRequest(Protocol):
    """A pull request of a code host, with its comments. All methods raise DeliveryFailed."""

    #: Number of the pull request; 0: none.
    number: int

    def read(self) -> PullState:
        """Return the state of the pull request."""

    def set_resolved(self, comment: ExistingComment, *, is_resolved: bool) -> None:
        """Resolve or reopen the thread of a comment, if the token may."""


class CodeHost(PullRequest, Protocol):
    """One pull request of a code host, or its repository. All methods raise DeliveryFailed."""

    def tag(self, anchor: Anchor) -> str:
        """Return the language of a code block that can be committed."""

    def create_summary(self, body: str) -> str:
        """Create the summary, and return the id of the comment."""

    def edit_summary(self, comment_id: str, body: str) -> None:
        """Edit the summary."""

    def delete_summary(self, comment_id: str) -> None:
        """Delete a second summary."""

    def create_comments(self, comments: Sequence[NewComment]) -> Sequence[NewComment]:
        """Create comments; return those whose place the host refuses."""

    def edit_comment(self, comment: ExistingComment, body: str) -> None:
        """Edit a comment."""

    def delete_comment(self, comment: ExistingComment) -> None:
        """Delete a second comment about the same finding."""

    def is_merge_of(self, revision: str, head: str) -> bool:
        """Return whether a commit merges the head of the pull request into its base."""

    def set_status(self, revision: str, status: CommitStatus, run: ReviewRun) -> None:
        """Set the status of a commit; `run`: for hosts that show its findings beside the status."""

    def upload_findings(self, run: ReviewRun, revision: str) -> None:
        """Upload the findings of a commit, if the host has a page for them."""


def deliver_to_host(
    host: CodeHost, entry: CodeHostEntry, payload: ReportPayload, decisions: Decisions | None
) -> None:
    """Write a run to its pull request, or only its status to its commit if it reviews none. Raises DeliveryFailed."""
    run = payload.run
    with checked_answers(entry.api_url):
        if payload.pull_request is not None:
            host.number = payload.pull_request.number
            run, revision = publish(host, relocate(run), entry, decisions)
        elif revision := run.revision:
            host.set_status(revision, status_of(run, entry), run)
        else:
            raise DeliveryFailed(
                "the run reviews neither a pull request (--pull-request N) nor a git revision",
                retryable=False,
            )
        if revision is not None:
            host.upload_findings(run, revision)


def relocate(run: ReviewRun) -> ReviewRun:
    """Return the run with paths relative to the repository whose subfolder was reviewed, which its name includes."""
    if not run.repository_folder:
        return run

    def move(finding: Finding) -> Finding:
        return finding.model_copy(update={"path": run.repository_path(finding.path)})

    def move_result(result: ItemResult) -> ItemResult:
        item = result.item.model_copy(update={"path": run.repository_path(result.item.path)})
        return result.model_copy(update={"item": item, "findings": tuple(map(move, result.findings))})

    changes = {
        "findings": tuple(map(move, run.findings)),
        "results": tuple(map(move_result, run.results)),
        "skipped": tuple(
            item.model_copy(update={"path": run.repository_path(item.path)}) for item in run.skipped
        ),
        "root_name": f"{run.root_name} ({run.repository_folder})",
        "repository_folder": "",
        "root": run.root or run.root_name,
    }
    return run.model_copy(update=changes)


def publish(
    host: CodeHost, run: ReviewRun, entry: CodeHostEntry, decisions: Decisions | None
) -> tuple[ReviewRun, str | None]:
    """Write comments, summary and commit status of a run to its pull request.

    Returns:
        The run without the findings about which people have decided, and the commit that was reviewed; None: a newer
        run was delivered before, and nothing was written.

    Raises:
        DeliveryFailed: A part is missing; a repeated call adds it, and changes nothing else.
    """
    state = _own_part(host, run)
    if any(summary.marker.order > SummaryMarker.of(run).order for summary in state.summaries):
        log.info("review %s: a newer review was delivered before, not delivering it", run.id)
        return run, None
    run = _apply_decisions(host, state, run, decisions)
    plan = plan_comments(run, state.files, state.comments, entry, tag=host.tag)
    summary_id = _write_summary(host, state.summaries, _body(run, plan, state))
    refused = _write_comments(host, plan)
    if refused:
        host.edit_summary(summary_id, _body(run, plan, state, refused))
    if plan.create or not state.summaries:
        _delete_duplicates(host, run)
    revision = _reviewed_commit(host, run, state.head)
    earlier = [severity_of_body(comment.body) for comment in plan.not_reviewed]
    host.set_status(revision, status_of(run, entry, earlier=list(filter(None, earlier))), run)
    return run, revision


def _apply_decisions(
    host: CodeHost, state: PullState, run: ReviewRun, decisions: Decisions | None
) -> ReviewRun:
    """Store what people have decided in the threads, and suppress these findings."""
    repository = repository_of(run)
    stored = [] if decisions is None else decisions.of_repository(repository)
    news = list(
        learn_decisions(
            run, state.files, state.comments, stored, repository=repository, pull_request=host.number
        )
    )
    for decision in news:
        log.info("review %s: %s decided about %s: %s", run.id, decision.by, decision.path, decision.verdict)
    if decisions is not None:
        decisions.add_decisions(news)
    return with_decisions(run, [*stored, *news])


def _own_part(host: CodeHost, run: ReviewRun) -> PullState:
    """Return the state of the pull request with the comments of the run's series."""
    state, series = host.read(), series_of(run)
    return replace(
        state,
        comments=[comment for comment in state.comments if comment.marker.series == series],
        summaries=[summary for summary in state.summaries if summary.marker.series == series],
    )


def _body(run: ReviewRun, plan: CommentPlan, state: PullState, refused: Sequence[NewComment] = ()) -> str:
    commented = plan.kept + len(plan.create) - len(refused)
    elsewhere = [*plan.elsewhere, *(comment.finding for comment in refused)]
    return summary_body(run, elsewhere, commented=commented, files=state.files)


def _write_summary(host: CodeHost, summaries: Sequence[ExistingSummary], body: str) -> str:
    """Create or edit the summary, delete any other, and return the id of its comment."""
    if not summaries:
        return host.create_summary(body)
    first, *others = summaries
    if not is_same_body(first.body, body):
        host.edit_summary(first.comment_id, body)
    for other in others:
        host.delete_summary(other.comment_id)
    return first.comment_id


def _delete_duplicates(host: CodeHost, run: ReviewRun) -> None:
    """Delete what another worker has written at the same time; both keep the same comments.

    Nothing is created here: a host may not yet list what was created just now.
    """
    state = _own_part(host, run)
    for comment in find_duplicates(state.comments):
        host.delete_comment(comment)
    newest = max(state.summaries, key=lambda candidate: candidate.marker.order, default=None)
    for summary in state.summaries:
        if summary is not newest:
            host.delete_summary(summary.comment_id)


def _write_comments(host: CodeHost, plan: CommentPlan) -> Sequence[NewComment]:
    """Create and edit comments; return those that the host refused."""
    refused = host.create_comments(plan.create) if plan.create else ()
    for edit in plan.edit:
        if edit.resolve is not None and edit.resolve is not edit.comment.is_resolved:
            host.set_resolved(edit.comment, is_resolved=edit.resolve)
        host.edit_comment(edit.comment, edit.body)
    return refused


def _reviewed_commit(host: CodeHost, run: ReviewRun, head: str) -> str:
    """Return the commit for the status. CI checks out a merge of the head, which code hosts do not show."""
    if not run.revision or run.revision == head or host.is_merge_of(run.revision, head):
        return head
    return run.revision


def status_of(run: ReviewRun, entry: CodeHostEntry, *, earlier: Sequence[Severity] = ()) -> CommitStatus:
    """Return the commit status of a run: a commit has one for each panel and root.

    `earlier`: severities of open comments on places that the run has not looked at; they count, too.
    """
    folder = f" ({run.repository_folder})" if run.repository_folder else ""
    has_passed = entry.fail_on == "never" or not (
        run.has_finding_at_least(entry.fail_on)
        or any(severity.at_least(entry.fail_on) for severity in earlier)
    )
    text = f"{headline(run)}; {count_of(len(earlier), 'earlier finding')} open" if earlier else headline(run)
    return CommitStatus(
        f"symposia/{run.panel}/{run.root_name}{folder}"[:_MAX_NAME],
        has_passed if run.state is RunState.COMPLETED else None,
        text[:_MAX_DESCRIPTION],
    )
