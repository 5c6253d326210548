"""Delivery to GitLab: the merge requests of one project, and commit statuses.

GitLab takes reports of code quality from the artifacts of a pipeline only, so none is uploaded.

Source: https://docs.gitlab.com/api/discussions, https://docs.gitlab.com/api/commits.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import quote, urlencode

from ....models.errors import DeliveryFailed
from ..deliveries_file import GitlabEntry
from ..payload import ReportPayload
from .api import HostApi, checked_answers
from .comments import FindingMarker, SummaryMarker, find_marker
from .diff import Anchor, FileDiff, parse_patch
from .plan import ExistingComment, NewComment
from .publish import CommitStatus, ExistingSummary, PullState, publish, relocate, required_revision, status_of

log = logging.getLogger(__name__)


def deliver_to_gitlab(entry: GitlabEntry, payload: ReportPayload, *, token: str) -> None:
    """Write the run to its merge request, or the status of its commit if it reviews none. Raises DeliveryFailed."""
    host = _Project(entry, HostApi(entry, token))
    with checked_answers(entry.api_url):
        if (pull := payload.pull_request) is None:
            revision = required_revision(payload)
            host.set_status(revision, status_of(payload.run, entry))
            return
        host.number = pull.number
        publish(host, relocate(payload.run), entry)


class _Project:
    """A project, with the number of the merge request that gets comments."""

    number = 0

    def __init__(self, entry: GitlabEntry, api: HostApi) -> None:
        self._api = api
        self._path = f"/projects/{quote(entry.project, safe='')}"
        self._versions: dict[str, str] = {}

    @property
    def _merge_request(self) -> str:
        return f"{self._path}/merge_requests/{self.number}"

    def tag(self, anchor: Anchor) -> str:
        """Return the language of a code block that can be committed: it counts lines from that of the comment."""
        return f"suggestion:-0+{anchor.end - anchor.start}"

    def read(self) -> PullState:
        """Return the state of the merge request."""
        user = self._api.call("GET", "/user").data["id"]
        merge_request = self._api.call("GET", self._merge_request).data
        if not merge_request["diff_refs"]:
            raise DeliveryFailed(f"GitLab has not prepared the diff of merge request {self.number} yet")
        self._versions = merge_request["diff_refs"]
        files = {file.path: file for file in self._files()}
        comments: list[ExistingComment] = []
        summaries: list[ExistingSummary] = []
        for discussion in self._api.pages(f"{self._merge_request}/discussions"):
            note = next(iter(discussion["notes"]), None)
            if note is None:
                continue
            marker = find_marker(note["body"]) if note["author"]["id"] == user else None
            if isinstance(marker, SummaryMarker):
                summaries.append(ExistingSummary(str(note["id"]), marker, note["body"]))
            elif isinstance(marker, FindingMarker):
                comments.append(_comment(discussion["id"], note, marker))
        return PullState(self._versions["head_sha"], files, comments, summaries)

    def _files(self) -> Iterator[FileDiff]:
        for file in self._api.pages(f"{self._merge_request}/diffs"):
            if not file["deleted_file"]:
                yield FileDiff(file["new_path"], file["old_path"], parse_patch(file["diff"] or ""))

    def create_summary(self, body: str) -> str:
        """Create the summary, and return the id of the note."""
        return str(self._api.call("POST", f"{self._merge_request}/notes", {"body": body}).data["id"])

    def edit_summary(self, comment_id: str, body: str) -> None:
        """Edit the summary."""
        self._api.call("PUT", f"{self._merge_request}/notes/{comment_id}", {"body": body})

    def delete_summary(self, comment_id: str) -> None:
        """Delete a second summary."""
        self._api.call("DELETE", f"{self._merge_request}/notes/{comment_id}")

    def create_comments(self, comments: Sequence[NewComment]) -> Sequence[NewComment]:
        """Create comments, one discussion each; return those whose place GitLab refuses."""
        return [comment for comment in comments if not self._create(comment)]

    def _create(self, comment: NewComment) -> bool:
        data = {"body": comment.body, "position": self._position(comment.anchor)}
        answer = self._api.call("POST", f"{self._merge_request}/discussions", data, accept=(400,))
        if answer.status == 400:
            log.info("GitLab refused the place of a comment, adding it to the summary: %s", answer.error)
        return answer.status != 400

    def _position(self, anchor: Anchor) -> dict[str, Any]:
        """Return the position of the first line; an unchanged line needs its old number, too."""
        old_line = {} if anchor.old_start is None else {"old_line": anchor.old_start}
        return {
            "position_type": "text",
            **{name: self._versions[name] for name in ("base_sha", "start_sha", "head_sha")},
            "old_path": anchor.file.old_path,
            "new_path": anchor.file.path,
            "new_line": anchor.start,
            **old_line,
        }

    def edit_comment(self, comment: ExistingComment, body: str) -> None:
        """Edit a comment."""
        self._api.call("PUT", self._note_of(comment), {"body": body})

    def delete_comment(self, comment: ExistingComment) -> None:
        """Delete a comment."""
        self._api.call("DELETE", self._note_of(comment))

    def _note_of(self, comment: ExistingComment) -> str:
        return f"{self._merge_request}/discussions/{comment.thread_id}/notes/{comment.comment_id}"

    def set_resolved(self, comment: ExistingComment, *, is_resolved: bool) -> None:
        """Resolve or reopen the discussion of a comment, if the token may."""
        path = f"{self._merge_request}/discussions/{comment.thread_id}"
        answer = self._api.call("PUT", path, {"resolved": is_resolved}, accept=(403,))
        if answer.status == 403:
            log.debug("the token may not resolve discussions; only the comment says that its finding is gone")

    def is_merge_of(self, revision: str, head: str) -> bool:
        """Return whether a commit merges the head of the merge request into its target."""
        answer = self._api.call("GET", f"{self._path}/repository/commits/{revision}", accept=(404,))
        return answer.status == 200 and head in answer.data["parent_ids"]

    def set_status(self, revision: str, status: CommitStatus) -> None:
        """Set the status of a commit; a repeated call sends nothing, because GitLab may refuse the same status."""
        state = "success" if status.has_passed else "failed"
        text = {"name": status.name, "description": status.description}
        path = f"{self._path}/repository/commits/{revision}/statuses?{urlencode({'name': status.name})}"
        answer = self._api.call("GET", path, accept=(404,))
        statuses = answer.data if answer.status == 200 else ()
        if not any(
            entry["status"] == state and text == {name: entry.get(name) for name in text}
            for entry in statuses
        ):
            self._api.call("POST", f"{self._path}/statuses/{revision}", {"state": state, **text})


def _comment(discussion_id: str, note: dict[str, Any], marker: FindingMarker) -> ExistingComment:
    position = note.get("position") or {}
    return ExistingComment(
        comment_id=str(note["id"]),
        thread_id=discussion_id,
        marker=marker,
        body=note["body"],
        path=position.get("new_path") or "",
        line=position.get("new_line"),
        is_resolved=bool(note.get("resolved")),
    )
