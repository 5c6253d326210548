"""Decisions that people have taken in the threads of a pull request. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ....models.text.ids import utcnow
from ...values.decisions import Decision, Verdict, parse_answer
from ...values.findings import Finding
from ...values.identity import FindingIdentity
from ...values.runs import ReviewRun
from .comments import is_suppressed_body
from .diff import FileDiff
from .plan import ExistingComment, match_comments


def learn_decisions(
    run: ReviewRun,
    files: Mapping[str, FileDiff],
    comments: Sequence[ExistingComment],
    decisions: Sequence[Decision],
    *,
    repository: str,
    pull_request: int,
) -> Iterator[Decision]:
    """Yield decisions that are not stored yet.

    An answer such as "not a bug" counts at once. A thread that a person has resolved counts if the finding is still
    reported: otherwise it was resolved because the finding is fixed.

    Args:
        run: The run, with paths relative to the repository.
        files: Diff of the pull request by path.
        comments: Comments of the run's series.
        decisions: Stored decisions about the repository.
        repository: The repository, as decisions name it.
        pull_request: Number of the pull request.
    """
    pairs = match_comments(run, files, comments)
    reported = {comment.comment_id: finding for finding, comment in pairs if comment is not None}
    for comment in comments:
        finding = reported.get(comment.comment_id)
        decision = _decision(comment, finding, repository=repository, pull_request=pull_request)
        if decision is not None and _is_news(decision, comment, decisions):
            yield decision


def _decision(
    comment: ExistingComment, finding: Finding | None, *, repository: str, pull_request: int
) -> Decision | None:
    """Return what was decided in a thread: by the newest answer that decides, or by resolving it."""
    identity = comment.identity if finding is None else FindingIdentity.of(finding)
    message = "" if finding is None else finding.message
    common = {"repository": repository, "pull_request": pull_request}
    for answer in reversed(comment.answers):
        if (parsed := parse_answer(answer.text)) is not None:
            verdict, reason = parsed
            who = {"verdict": verdict, "reason": reason, "by": answer.by, "at": answer.at}
            return Decision.of(identity, message, **common, **who)
    is_reported = finding is not None and not comment.marker.is_gone
    if not (comment.resolved_by and is_reported):
        return None
    return Decision.of(
        identity, message, **common, verdict=Verdict.RESOLVED, by=comment.resolved_by, at=utcnow()
    )


def _is_news(decision: Decision, comment: ExistingComment, decisions: Sequence[Decision]) -> bool:
    """Return whether a decision is to be stored: neither is it, nor was it forgotten since.

    A thread that was resolved is open again after its decision was forgotten, and does not say "suppressed" any more.
    """
    about = [stored for stored in decisions if stored.is_about(decision.identity)]
    if any(not stored.is_forgotten for stored in about):
        return False
    if decision.verdict is Verdict.RESOLVED:
        return not (about and is_suppressed_body(comment.body))
    return all(stored.at < decision.at for stored in about)
