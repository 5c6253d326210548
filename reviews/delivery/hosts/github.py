"""Delivery to GitHub: the pull requests of one repository, commit statuses, code scanning.

Comments are created by the REST API, in reviews of several, so that people get one message. They are listed and
edited by the GraphQL API, which knows threads, and which comments the token's user wrote: others cannot add a
comment that is taken for one of an earlier delivery.

Source: https://docs.github.com/rest and https://docs.github.com/graphql.
"""

from __future__ import annotations

import gzip
import logging
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from ....models.errors import DeliveryFailed
from ...reports.sarif import to_sarif
from ...values.runs import ReviewRun
from ..deliveries_file import GithubEntry
from .api import FORBIDDEN, HostApi
from .check_run import write_check_run
from .diff import Anchor, FileDiff
from .markers import FindingMarker, SummaryMarker, find_marker, find_reply_marker
from .plan import ExistingComment, NewComment, PersonAnswer
from .publish import CommitStatus, ExistingSummary, PullState

log = logging.getLogger(__name__)

#: Maximum number of comments in one review.
_BATCH = 20
#: Maximum bytes of a compressed SARIF file that GitHub takes.
_MAX_SARIF_BYTES = 10_485_760
_LIST = """query($owner: String!, $name: String!, $number: Int!, $after: String) {
  repository(owner: $owner, name: $name) { pullRequest(number: $number) { %s(first: 50, after: $after) {
    pageInfo { hasNextPage endCursor } nodes { %s } } } } }"""
_COMMENT = "id body viewerDidAuthor"
_THREAD = (
    "id isResolved path line startLine resolvedBy { login } "
    "comments(first: 100) { nodes { id body viewerDidAuthor authorAssociation createdAt author { login } } }"
)
#: Relations to the repository of people whose answers count.
_TRUSTED = ("OWNER", "MEMBER", "COLLABORATOR")
_MUTATION = "mutation($input: %sInput!) { %s(input: $input) { clientMutationId } }"


class Repository:
    """A repository, with the number of the pull request that gets comments."""

    number = 0
    _head, _author = "", ""
    _is_trusted_author = False

    def __init__(self, entry: GithubEntry, api: HostApi) -> None:
        self._api, self._entry = api, entry
        self._owner, _, self._name = entry.repository.partition("/")
        self._path = f"/repos/{quote(self._owner)}/{quote(self._name)}"

    def tag(self, anchor: Anchor) -> str:  # noqa: ARG002 - GitHub replaces the lines of the comment
        """Return the language of a code block that can be committed."""
        return "suggestion"

    def read(self) -> PullState:
        """Return the state of the pull request."""
        pull = self._api.call("GET", f"{self._path}/pulls/{self.number}").data
        files = {file.path: file for file in self._files()}
        self._author = (pull.get("user") or {}).get("login", "")
        self._is_trusted_author = pull.get("author_association") in _TRUSTED
        threads = [
            thread for thread in map(self._thread, self._list("reviewThreads", _THREAD)) if thread is not None
        ]
        comments = [
            comment for comment in map(_summary, self._list("comments", _COMMENT)) if comment is not None
        ]
        self._head = pull["head"]["sha"]
        return PullState(self._head, files, threads, comments)

    def _files(self) -> Iterator[FileDiff]:
        for file in self._api.pages(f"{self._path}/pulls/{self.number}/files"):
            yield FileDiff.of_patch(
                file["filename"],
                file.get("patch") or "",
                old_path=file.get("previous_filename") or "",
                is_deleted=file["status"] == "removed",
            )

    def _thread(self, node: dict[str, Any]) -> ExistingComment | None:
        """Return the comment of a delivery that started a thread; None: another user started it."""
        first, *others = node["comments"]["nodes"] or [None]
        if first is None or not first["viewerDidAuthor"]:
            return None
        marker = find_marker(first["body"])
        if not isinstance(marker, FindingMarker):
            return None
        return ExistingComment(
            comment_id=first["id"],
            thread_id=node["id"],
            marker=marker,
            body=first["body"],
            path=node["path"],
            line=node["startLine"] or node["line"],
            end_line=node["line"],
            is_resolved=node["isResolved"],
            resolved_by=self._resolver(node, bot=_login(first)),
            answers=[
                PersonAnswer(answer["id"], _login(answer), answer["body"], answer["createdAt"])
                for answer in others
                if not answer["viewerDidAuthor"] and answer.get("authorAssociation") in _TRUSTED
            ],
            replied=[find_reply_marker(answer["body"]) for answer in others if answer["viewerDidAuthor"]],
        )

    def _resolver(self, node: dict[str, Any], *, bot: str) -> str:
        """Return the person who resolved a thread. The author of a pull request may do so without any permission."""
        resolver = (node.get("resolvedBy") or {}).get("login", "") if node["isResolved"] else ""
        if resolver == bot or (resolver == self._author and not self._is_trusted_author):
            return ""
        return str(resolver)

    def _list(self, connection: str, fields: str) -> Iterator[dict[str, Any]]:
        after = None
        while True:
            variables = {"owner": self._owner, "name": self._name, "number": self.number, "after": after}
            data = self._api.graphql(_LIST % (connection, fields), variables)
            page = data["repository"]["pullRequest"][connection]
            yield from page["nodes"]
            if not page["pageInfo"]["hasNextPage"]:
                return
            after = page["pageInfo"]["endCursor"]

    def create_summary(self, body: str) -> str:
        """Create the summary, and return the id of the comment."""
        path = f"{self._path}/issues/{self.number}/comments"
        return str(self._api.call("POST", path, {"body": body}).data["node_id"])

    def edit_summary(self, comment_id: str, body: str) -> None:
        """Edit the summary."""
        self._mutate("updateIssueComment", id=comment_id, body=body)

    def delete_summary(self, comment_id: str) -> None:
        """Delete a second summary."""
        self._mutate("deleteIssueComment", id=comment_id)

    def create_comments(self, comments: Sequence[NewComment]) -> Sequence[NewComment]:
        """Create comments in reviews of several; return those whose place GitHub refuses."""
        refused: list[NewComment] = []
        for start in range(0, len(comments), _BATCH):
            refused += self._create(comments[start : start + _BATCH])
        return refused

    def _create(self, comments: Sequence[NewComment]) -> Sequence[NewComment]:
        """Create one review; if GitHub refuses it, which is for all of it, create one per comment."""
        review = {
            "event": "COMMENT",
            "commit_id": self._head,
            "comments": [_review_comment(comment) for comment in comments],
        }
        answer = self._api.call("POST", f"{self._path}/pulls/{self.number}/reviews", review, accept=(422,))
        if answer.status != 422:
            return ()
        if len(comments) == 1:
            log.info("GitHub refused the place of a comment, adding it to the summary: %s", answer.error)
            return comments
        return [refused for comment in comments for refused in self._create([comment])]

    def edit_comment(self, comment: ExistingComment, body: str) -> None:
        """Edit a comment."""
        self._mutate(
            "updatePullRequestReviewComment", pullRequestReviewCommentId=comment.comment_id, body=body
        )

    def delete_comment(self, comment: ExistingComment) -> None:
        """Delete a comment."""
        self._mutate("deletePullRequestReviewComment", id=comment.comment_id)

    def set_resolved(self, comment: ExistingComment, *, is_resolved: bool) -> None:
        """Resolve or reopen the thread of a comment, if the token may."""
        verb = "resolveReviewThread" if is_resolved else "unresolveReviewThread"
        if not self._mutate(verb, accept=FORBIDDEN, threadId=comment.thread_id):
            log.debug("the token may not resolve threads; only the comment says that its finding is gone")

    def is_trusted(self, author: Mapping[str, Any]) -> bool:
        """Return whether the author of a comment may change the repository, as its event says."""
        return author.get("association") in _TRUSTED and author.get("type") != "Bot"

    def reply(self, comment: ExistingComment, body: str) -> None:
        """Answer in the thread of a comment."""
        self._mutate(
            "addPullRequestReviewThreadReply", pullRequestReviewThreadId=comment.thread_id, body=body
        )

    def is_merge_of(self, revision: str, head: str) -> bool:
        """Return whether a commit merges the head of the pull request into its base."""
        answer = self._api.call("GET", f"{self._path}/commits/{revision}", accept=(404, 422))
        return answer.status == 200 and any(parent["sha"] == head for parent in answer.data["parents"])

    def set_status(self, revision: str, status: CommitStatus, run: ReviewRun) -> None:
        """Set the status of a commit; a repeated call sends nothing, because a commit may have 1,000 statuses."""
        if self._entry.check_run:
            write_check_run(self._api, self._path, revision, status, run)
            return
        state = {True: "success", False: "failure", None: "error"}[status.has_passed]
        data = {"state": state, "context": status.name, "description": status.description}
        path = f"{self._path}/commits/{revision}/status?per_page=100"
        answer = self._api.call("GET", path, accept=(404, 422))
        statuses = answer.data["statuses"] if answer.status == 200 else ()
        if not any(data == {name: entry.get(name) for name in data} for entry in statuses):
            self._api.call("POST", f"{self._path}/statuses/{revision}", data)

    def upload_findings(self, run: ReviewRun, revision: str) -> None:
        """Upload the findings to code scanning, if the entry says so: of a pull request, or of its branch."""
        branch = self._entry.branch and f"heads/{self._entry.branch}"
        ref = f"pull/{self.number}/head" if self.number else branch
        if not (self._entry.sarif and ref):
            return
        packed = gzip.compress(to_sarif(run).encode(), mtime=0)
        if len(packed) > _MAX_SARIF_BYTES:
            raise DeliveryFailed(
                f"SARIF of {len(packed)} bytes is larger than GitHub takes ({_MAX_SARIF_BYTES})",
                retryable=False,
            )
        data = {"commit_sha": revision, "ref": f"refs/{ref}", "sarif": b64encode(packed).decode()}
        self._api.call("POST", f"{self._path}/code-scanning/sarifs", data)

    def _mutate(self, name: str, *, accept: Sequence[str] = (), **fields: object) -> bool:
        """Change something; return False if it failed with an error type in `accept`."""
        query = _MUTATION % (name[0].upper() + name[1:], name)
        return bool(self._api.graphql(query, {"input": fields}, accept=accept))


def _review_comment(comment: NewComment) -> dict[str, Any]:
    anchor = comment.anchor
    side = anchor.side.value.upper()
    position: dict[str, Any] = {"path": anchor.file.path, "line": anchor.end, "side": side}
    if anchor.end > anchor.start:
        position |= {"start_line": anchor.start, "start_side": side}
    return {**position, "body": comment.body}


def _login(comment: dict[str, Any]) -> str:
    """Return the author of a comment; empty: the account was deleted."""
    return str((comment.get("author") or {}).get("login", ""))


def _summary(node: dict[str, Any]) -> ExistingSummary | None:
    marker = find_marker(node["body"]) if node["viewerDidAuthor"] else None
    return ExistingSummary(node["id"], marker, node["body"]) if isinstance(marker, SummaryMarker) else None
