"""GitLab as far as a delivery uses it: one project with merge requests, after the published API description.

A discussion has a position in the diff: an added line has a new number only, an unchanged line both numbers.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import count
from typing import Any, ClassVar

from servers.code_hosts.json_server import Answer, JsonServer, Refused, Route, hunk_lines, paged
from symposia.models.text.ids import format_timestamp, utcnow

ME = 7
_MAX_BODY = 1_000_000


@dataclass
class MergeRequest:
    head: str
    files: dict[str, str]
    deleted: set[str] = field(default_factory=set)
    #: False: GitLab has not compared the branches yet.
    is_prepared: bool = True
    discussions: list[dict[str, Any]] = field(default_factory=list)
    #: Further fields in lists, such as `title`.
    more: dict[str, Any] = field(default_factory=dict)
    #: Issues that it closes.
    issues: list[dict[str, Any]] = field(default_factory=list)

    def push(self, head: str, files: dict[str, str], *, is_forced: bool = False) -> None:
        """A new commit: positions follow the text of their line, or stay those of an older diff."""
        self.head, self.files = head, files
        for position in (thread["notes"][0]["position"] for thread in self.threads):
            side, mine, other = _side_of(position)
            lines = hunk_lines(files.get(position["new_path"], ""), side)
            at = [number for number, line in lines.items() if line[2] == position["text"]]
            if at and not is_forced:
                numbers = {mine: at[0], other: lines[at[0]][1]}
                position |= {"head_sha": head, **{name: it for name, it in numbers.items() if it is not None}}

    @property
    def versions(self) -> dict[str, str]:
        return {"base_sha": "b" * 40, "start_sha": "c" * 40, "head_sha": self.head}

    @property
    def notes(self) -> list[dict[str, Any]]:
        """Notes that belong to no line."""
        return [it["notes"][0] for it in self.discussions if it["individual_note"]]

    @property
    def threads(self) -> list[dict[str, Any]]:
        return [it for it in self.discussions if not it["individual_note"]]


class GitLab(JsonServer):
    """The project `example/shop`."""

    prefix = "/api/v4"
    unauthorized: ClassVar[dict[str, str]] = {"message": "401 Unauthorized"}
    not_found: ClassVar[dict[str, str]] = {"error": "404 Not Found"}

    def __init__(self) -> None:
        self.merge_requests: dict[int, MergeRequest] = {}
        #: Parents of each commit.
        self.commits: dict[str, list[str]] = {}
        self.statuses: list[tuple[str, dict[str, Any]]] = []
        self.may_resolve = True
        #: Who may read a feature of the project.
        self.access = {"issues_access_level": "enabled", "merge_requests_access_level": "enabled"}
        #: Access level by user.
        self.members: dict[int, int] = {ME: 30, 3: 30}
        self._ids = count(1)
        super().__init__()

    def routes(self) -> list[Route]:
        project = "/projects/example/shop"
        merge_request = rf"{project}/merge_requests/(\d+)"
        return [
            ("GET", "/user", lambda **_: (200, {"id": ME, "username": "project_1_bot"})),
            ("GET", project, lambda **_: (200, {"id": 1, **self.access})),
            ("GET", rf"{project}/members/all/(\d+)", self._member),
            ("GET", rf"{project}/merge_requests", self._open_merge_requests),
            ("GET", merge_request, self._merge_request),
            ("GET", rf"{merge_request}/closes_issues", lambda number, **_: (200, self.find(number).issues)),
            ("GET", rf"{merge_request}/diffs", self._diffs),
            ("GET", rf"{merge_request}/discussions", self._list),
            ("POST", rf"{merge_request}/discussions", self._discuss),
            ("PUT", rf"{merge_request}/discussions/(\w+)", self._resolve),
            ("PUT", rf"{merge_request}/discussions/(\w+)/notes/(\d+)", self._edit_discussion),
            ("DELETE", rf"{merge_request}/discussions/(\w+)/notes/(\d+)", self._delete_discussion),
            ("POST", rf"{merge_request}/discussions/(\w+)/notes", self._reply),
            ("POST", rf"{merge_request}/notes", self._note),
            ("PUT", rf"{merge_request}/notes/(\d+)", self._edit),
            ("DELETE", rf"{merge_request}/notes/(\d+)", self._delete),
            ("GET", rf"{project}/repository/commits/(\w+)", self._commit),
            ("GET", rf"{project}/repository/commits/(\w+)/statuses", self._statuses),
            ("POST", rf"{project}/statuses/(\w+)", self._status),
        ]

    def find(self, number: str) -> MergeRequest:
        if int(number) not in self.merge_requests:
            raise Refused(404, {"message": "404 Merge Request Not Found"})
        return self.merge_requests[int(number)]

    def _member(self, user: str, **_: Any) -> Answer:
        if int(user) not in self.members:
            raise Refused(404, {"message": "404 Not found"})
        return 200, {"id": int(user), "access_level": self.members[int(user)]}

    def answer(self, discussion: dict[str, Any], author: int, body: str) -> dict[str, Any]:
        """An answer in a discussion, of anybody; returns its event."""
        note = {"id": next(self._ids), "body": body, "author": user(author), "system": False}
        discussion["notes"].append({**note, "created_at": format_timestamp(utcnow())})
        attributes = {"noteable_type": "MergeRequest", "type": "DiffNote", "action": "create"}
        return {
            "object_kind": "note",
            "user": user(author),
            "project": {"web_url": "https://git.example.com/example/shop"},
            "object_attributes": {"id": note["id"], "note": body, **attributes},
            "merge_request": {"iid": next(iter(self.merge_requests))},
        }

    def _reply(self, number: str, discussion_id: str, *, body: dict[str, Any], **_: Any) -> Answer:
        _check_body(body["body"])
        self.answer(self._find_discussion(number, discussion_id), ME, body["body"])
        self.changed()
        return 201, {}

    def resolve(self, discussion: dict[str, Any], author: int | None) -> None:
        """A person resolves a discussion; None: reopens it."""
        discussion["notes"][0] |= {
            "resolved": author is not None,
            "resolved_by": None if author is None else user(author),
        }

    def _open_merge_requests(self, *, query: dict[str, str], **_: Any) -> Answer:
        assert (query["state"], query["order_by"], query["sort"]) == ("opened", "created_at", "asc")
        listed = [
            {"iid": number, "title": "", "description": None, "draft": False, **merge_request.more}
            | {"sha": merge_request.head, "target_branch": "main"}
            for number, merge_request in self.merge_requests.items()
        ]
        return 200, paged(listed, query)

    def _merge_request(self, number: str, **_: Any) -> Answer:
        found = self.find(number)
        versions = found.versions if found.is_prepared else None
        return 200, {"iid": int(number), "project_id": 1, "sha": found.head, "diff_refs": versions}

    def _diffs(self, number: str, *, query: dict[str, str], **_: Any) -> Answer:
        found = self.find(number)
        files = [_diff(it, "", is_deleted=True) for it in sorted(found.deleted)]
        files += [_diff(name, patch) for name, patch in found.files.items()]
        return 200, paged(files, query)

    def _list(self, number: str, *, query: dict[str, str], **_: Any) -> Answer:
        return 200, paged(self.find(number).discussions, query)

    def _discuss(self, number: str, *, body: dict[str, Any], **_: Any) -> Answer:
        found = self.find(number)
        _check_body(body["body"])
        _check_position(found, body["position"])
        position = body["position"]
        side, mine, _ = _side_of(position)
        text = hunk_lines(found.files[position["new_path"]], side)[position[mine]][2]
        added = self.add(int(number), ME, body["body"], position={**position, "text": text})
        self.changed()
        return 201, added

    def add(self, number: int, author: int, body: str, **more: Any) -> dict[str, Any]:
        """A discussion with one note, of anybody."""
        note = {
            "id": next(self._ids),
            "body": body,
            "author": user(author),
            "resolvable": "position" in more,
            **more,
        }
        if "position" in more:
            note["resolved"] = False
        discussion = {
            "id": f"{next(self._ids):040x}",
            "individual_note": "position" not in more,
            "notes": [note],
        }
        self.merge_requests[number].discussions.append(discussion)
        return discussion

    def _resolve(self, number: str, discussion_id: str, *, body: dict[str, Any], **_: Any) -> Answer:
        if not self.may_resolve:
            raise Refused(403, {"message": "403 Forbidden"})
        discussion = self._find_discussion(number, discussion_id)
        self.resolve(discussion, ME if body["resolved"] else None)
        self.changed()
        return 200, discussion["notes"][0]

    def _edit_discussion(
        self, number: str, discussion_id: str, note_id: str, *, body: dict[str, Any], **_: Any
    ) -> Answer:
        note = self._find_discussion(number, discussion_id)["notes"][0]
        if note["id"] != int(note_id):
            raise Refused(404, {"message": "404 Note Not Found"})
        note["body"] = body["body"]
        self.changed()
        return 200, note

    def _delete_discussion(self, number: str, discussion_id: str, note_id: str, **_: Any) -> Answer:
        discussion = self._find_discussion(number, discussion_id)
        if discussion["notes"][0]["id"] != int(note_id):
            raise Refused(404, {"message": "404 Note Not Found"})
        self.find(number).discussions.remove(discussion)
        self.changed()
        return 204, None

    def _find_discussion(self, number: str, discussion_id: str) -> dict[str, Any]:
        for it in self.find(number).discussions:
            if it["id"] == discussion_id:
                return it
        raise Refused(404, {"message": "404 Discussion Not Found"})

    def _note(self, number: str, *, body: dict[str, Any], **_: Any) -> Answer:
        self.find(number)
        _check_body(body["body"])
        note = self.add(int(number), ME, body["body"])["notes"][0]
        self.changed()
        return 201, note

    def _edit(self, number: str, note_id: str, *, body: dict[str, Any], **_: Any) -> Answer:
        note = self._find_note(number, note_id)["notes"][0]
        note["body"] = body["body"]
        self.changed()
        return 200, note

    def _delete(self, number: str, note_id: str, **_: Any) -> Answer:
        self.find(number).discussions.remove(self._find_note(number, note_id))
        self.changed()
        return 204, None

    def _find_note(self, number: str, note_id: str) -> dict[str, Any]:
        for it in self.find(number).discussions:
            if it["notes"][0]["id"] == int(note_id):
                return it
        raise Refused(404, {"message": "404 Note Not Found"})

    def _commit(self, sha: str, **_: Any) -> Answer:
        if sha not in self.commits:
            raise Refused(404, {"message": "404 Commit Not Found"})
        return 200, {"id": sha, "parent_ids": self.commits[sha]}

    def _statuses(self, sha: str, *, query: dict[str, str], **_: Any) -> Answer:
        newest = {it["name"]: it for known, it in self.statuses if known == sha}
        found = [it for name, it in newest.items() if name == query["name"]]
        return 200, [{**it, "status": it["state"]} for it in found]

    def _status(self, sha: str, *, body: dict[str, Any], **_: Any) -> Answer:
        if sha not in self.commits:
            raise Refused(404, {"message": "404 Commit Not Found"})
        if body["state"] not in ("pending", "running", "success", "failed", "canceled"):
            raise Refused(400, {"error": "state does not have a valid value"})
        newest = {it["name"]: it for known, it in self.statuses if known == sha}
        if newest.get(body["name"]) == body:
            raise Refused(400, {"message": "Cannot transition status via :succeed from :success"})
        self.statuses.append((sha, body))
        self.changed()
        return 201, {"id": next(self._ids)}


def _diff(path: str, patch: str, *, is_deleted: bool = False) -> dict[str, Any]:
    return {"old_path": path, "new_path": path, "diff": patch, "deleted_file": is_deleted}


def user(number: int) -> dict[str, Any]:
    """A user as notes name them."""
    return {"id": number, "username": f"user-{number}"}


def _check_body(body: str) -> None:
    if not body.strip() or len(body) > _MAX_BODY:
        raise Refused(400, {"message": "400 Bad request - Note can't be blank"})
    outside = re.sub(r"(?ms)^(`{3,}).*?^\1$", "", body)
    if re.search(r"^\s*/\w", outside, re.MULTILINE):
        raise AssertionError("a quick action would be executed")


def _side_of(position: dict[str, Any]) -> tuple[str, str, str]:
    """The side of a position, and the names of its line there and on the other side."""
    is_right = "new_line" in position
    return ("RIGHT", "new_line", "old_line") if is_right else ("LEFT", "old_line", "new_line")


def _check_position(found: MergeRequest, position: dict[str, Any]) -> None:
    versions = {name: position.get(name) for name in found.versions}
    side, mine, other = _side_of(position)
    lines = hunk_lines(found.files.get(position["new_path"], ""), side)
    line = lines.get(position.get(mine, 0))
    is_valid = versions == found.versions and line is not None and position.get(other) == line[1]
    if is_valid and "line_range" in position:
        ends = [position["line_range"][name] for name in ("start", "end")]
        is_valid = ends[1][mine] == position[mine] and all(
            re.fullmatch(r"[0-9a-f]{40}_\d+_\d+", end["line_code"])
            and end["type"] == ("new" if side == "RIGHT" and end.get(other) is None else "old")
            and lines[end[mine]][1] == end.get(other)
            for end in ends
        )
    if not is_valid:
        message = '400 Bad request - Note {:line_code=>["can\'t be blank", "must be a valid line code"]}'
        raise Refused(400, {"message": message})
