"""Delivery to GitLab: the merge requests of one project, and commit statuses.

Source: https://docs.gitlab.com/api/discussions, https://docs.gitlab.com/api/commits.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote, urlencode

from ....models.errors import DeliveryFailed
from ...values.findings import Side
from ...values.runs import ReviewRun
from ..deliveries_file import GitlabEntry
from .api import HostApi
from .diff import Anchor, FileDiff
from .markers import FindingMarker, SummaryMarker, find_marker, find_reply_marker
from .plan import ExistingComment, NewComment, PersonAnswer
from .publish import CommitStatus, ExistingSummary, PullState

log = logging.getLogger(__name__)

#: Access level of members who may change a project.
_DEVELOPER = 30


class Project:
    """A project, with the number of the merge request that gets comments."""

    number = 0

    def __init__(self, entry: GitlabEntry, api: HostApi) -> None:
        self._api = api
        self._path = f"/projects/{quote(entry.project, safe='')}"
        self._versions: dict[str, str] = {}
        self._members: dict[int, bool] = {}

    @property
    def _merge_request(self) -> str:
        return f"{self._path}/merge_requests/{self.number}"

    def tag(self, anchor: Anchor) -> str:
        """Return the language of a code block that can be committed: it counts lines from the last of the comment."""
        return f"suggestion:-{anchor.end - anchor.start}+0"

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
                comments.append(self._comment(discussion, marker, user=user))
        return PullState(self._versions["head_sha"], files, comments, summaries)

    def _files(self) -> Iterator[FileDiff]:
        for file in self._api.pages(f"{self._merge_request}/diffs"):
            yield FileDiff.of_patch(
                file["new_path"],
                file["diff"] or "",
                old_path=file["old_path"],
                is_deleted=file["deleted_file"],
            )

    def _comment(self, discussion: dict[str, Any], marker: FindingMarker, *, user: int) -> ExistingComment:
        """Return a comment with the answers, and with the person who resolved its discussion."""
        note, *answers = discussion["notes"]
        resolver = (note.get("resolved_by") or {}) if note.get("resolved") else {}
        is_decided = resolver and resolver["id"] != user and self._is_member(resolver["id"])
        position = note.get("position") or {}
        # A position that GitLab could not move to the newest diff keeps the lines of an older one.
        is_current = position.get("head_sha") == self._versions["head_sha"]
        line_name = "old_line" if marker.identity.side is Side.LEFT else "new_line"
        end = position.get(line_name) if is_current else None
        start = ((position.get("line_range") or {}).get("start") or {}).get(line_name)
        return ExistingComment(
            comment_id=str(note["id"]),
            thread_id=discussion["id"],
            marker=marker,
            body=note["body"],
            path=position.get("new_path") or "",
            line=end and (start or end),
            end_line=end,
            is_resolved=bool(note.get("resolved")),
            resolved_by=resolver["username"] if is_decided else "",
            answers=[
                PersonAnswer(
                    str(answer["id"]), answer["author"]["username"], answer["body"], answer["created_at"]
                )
                for answer in answers
                if not answer.get("system")
                and answer["author"]["id"] != user
                and self._is_member(answer["author"]["id"])
            ],
            replied=[
                find_reply_marker(answer["body"]) for answer in answers if answer["author"]["id"] == user
            ],
        )

    def _is_member(self, user: int) -> bool:
        """Return whether a user may change the project; members of its groups are members, too."""
        if user not in self._members:
            answer = self._api.call("GET", f"{self._path}/members/all/{user}", accept=(403, 404))
            self._members[user] = answer.status == 200 and answer.data["access_level"] >= _DEVELOPER
        return self._members[user]

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
        """Return the position of the last line, and the range of several lines."""
        position = {
            "position_type": "text",
            **{name: self._versions[name] for name in ("base_sha", "start_sha", "head_sha")},
            "old_path": anchor.file.old_path,
            "new_path": anchor.file.path,
            **_line_numbers(anchor, anchor.end),
        }
        if anchor.end > anchor.start:
            ends = {"start": anchor.start, "end": anchor.end}
            position["line_range"] = {name: _range_end(anchor, number) for name, number in ends.items()}
        return position

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

    def is_trusted(self, author: Mapping[str, Any]) -> bool:
        """Return whether the author of a comment may change the project."""
        return self._is_member(int(author["id"]))

    def reply(self, comment: ExistingComment, body: str) -> None:
        """Answer in the discussion of a comment."""
        self._api.call("POST", f"{self._merge_request}/discussions/{comment.thread_id}/notes", {"body": body})

    def is_merge_of(self, revision: str, head: str) -> bool:
        """Return whether a commit merges the head of the merge request into its target."""
        answer = self._api.call("GET", f"{self._path}/repository/commits/{revision}", accept=(404,))
        return answer.status == 200 and head in answer.data["parent_ids"]

    def set_status(self, revision: str, status: CommitStatus, run: ReviewRun) -> None:  # noqa: ARG002 - no findings are shown
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

    def upload_findings(self, run: ReviewRun, revision: str) -> None:
        """Do nothing: GitLab takes findings from the artifacts of a pipeline only."""


def _line_numbers(anchor: Anchor, number: int) -> dict[str, int]:
    """Return the numbers of a line in the old and the new file; an added or removed line has one only."""
    mine, other = ("old_line", "new_line") if anchor.side is Side.LEFT else ("new_line", "old_line")
    other_number = anchor.line(number).other_line
    return {mine: number} if other_number is None else {mine: number, other: other_number}


def _range_end(anchor: Anchor, number: int) -> dict[str, Any]:
    """Return one end of a range of lines, with its line code: a hash of the path and both numbers."""
    numbers = _line_numbers(anchor, number)
    follows = anchor.line(number).next_other
    old, new = numbers.get("old_line", follows), numbers.get("new_line", follows)
    digest = hashlib.sha1(anchor.file.path.encode(), usedforsecurity=False).hexdigest()
    is_added = anchor.side is Side.RIGHT and "old_line" not in numbers
    return {"line_code": f"{digest}_{old}_{new}", "type": "new" if is_added else "old", **numbers}
