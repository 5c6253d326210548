"""GitHub as far as a delivery uses it: one repository with pull requests, after the published API description.

A review with a comment outside the diff is refused as a whole; only the GraphQL API knows threads.
"""

from __future__ import annotations

import gzip
import json
import re
from base64 import b64decode
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from servers.code_hosts.json_server import Answer, JsonServer, Refused, Route, hunk_lines, paged
from symposia.models.text.ids import format_timestamp, utcnow

ME = "review-bot"
_SHA = re.compile(r"[0-9a-f]{40}")
_MAX_BODY = 65_536


@dataclass
class Pull:
    head: str
    #: Patch of each file; None: too large to be shown.
    files: dict[str, str | None]
    #: Patches of removed files.
    removed: dict[str, str] = field(default_factory=dict)
    threads: list[dict[str, Any]] = field(default_factory=list)
    comments: list[dict[str, Any]] = field(default_factory=list)
    reviews: int = 0
    #: Login and association of who opened it.
    author: tuple[str, str] = ("ann", "MEMBER")
    #: Further fields in lists, such as `title`.
    more: dict[str, Any] = field(default_factory=dict)
    #: Issues that it closes, as nodes of the GraphQL API.
    issues: list[dict[str, Any]] = field(default_factory=list)

    def patch(self, path: str) -> str:
        """The patch of a file, or of a removed one."""
        return self.files.get(path) or (self.removed.get(path) or "")

    def push(self, head: str, files: dict[str, str | None], *, is_forced: bool = False) -> None:
        """A new commit: threads follow the text of their line, or become outdated, as all do after a force push."""
        self.head, self.files = head, files
        for thread in self.threads:
            lines = hunk_lines(files.get(thread["path"]) or "", thread["diffSide"])
            at = [number for number, line in lines.items() if line[2] == thread["text"]]
            thread["line"] = at[0] if at and not is_forced else None
            thread["startLine"] = None


class GitHub(JsonServer):
    """The repository `example/shop`."""

    prefix = ""

    def __init__(self) -> None:
        self.pulls: dict[int, Pull] = {}
        #: Parents of each commit.
        self.commits: dict[str, list[str]] = {}
        self.statuses: list[tuple[str, dict[str, Any]]] = []
        self.checks: list[dict[str, Any]] = []
        self.sarifs: list[dict[str, Any]] = []
        self.has_code_scanning = True
        self.may_resolve = True
        #: Maximum nodes of a page of the GraphQL API.
        self.page_size = 50
        #: The time of an answer.
        self.clock: Callable[[], str] = lambda: format_timestamp(utcnow())
        self._ids = count(1)
        super().__init__()

    def routes(self) -> list[Route]:
        repo = "/repos/example/shop"
        return [
            ("GET", rf"{repo}/pulls", self._open_pulls),
            ("GET", rf"{repo}/pulls/(\d+)", self._pull),
            ("GET", rf"{repo}/pulls/(\d+)/files", self._files),
            ("POST", rf"{repo}/pulls/(\d+)/reviews", self._review),
            ("POST", rf"{repo}/issues/(\d+)/comments", self._comment),
            ("GET", rf"{repo}/commits/(\w+)", self._commit),
            ("GET", rf"{repo}/commits/(\w+)/status", self._combined),
            ("POST", rf"{repo}/statuses/(\w+)", self._status),
            ("GET", rf"{repo}/commits/(\w+)/check-runs", self._list_checks),
            ("POST", rf"{repo}/check-runs", self._check),
            ("PATCH", rf"{repo}/check-runs/(\d+)", self._add_annotations),
            ("POST", rf"{repo}/code-scanning/sarifs", self._sarif),
            ("POST", r"/graphql", self._graphql),
        ]

    def find(self, number: str) -> Pull:
        if int(number) not in self.pulls:
            raise Refused(404, {"message": "Not Found"})
        return self.pulls[int(number)]

    def _open_pulls(self, *, query: dict[str, str], **_: Any) -> Answer:
        assert (query["state"], query["sort"], query["direction"]) == ("open", "created", "asc")
        listed = [
            {"number": number, "title": "", "body": None, "draft": False, **pull.more}
            | {"head": {"sha": pull.head}, "base": {"ref": "main"}}
            for number, pull in self.pulls.items()
        ]
        return 200, paged(listed, query)

    def _pull(self, number: str, **_: Any) -> Answer:
        pull = self.find(number)
        login, association = pull.author
        author = {"user": {"login": login}, "author_association": association}
        return 200, {"number": int(number), "state": "open", "head": {"sha": pull.head}, **author}

    def _files(self, number: str, *, query: dict[str, str], **_: Any) -> Answer:
        pull = self.find(number)
        files: list[dict[str, Any]] = [
            {"filename": name, "status": "removed", "patch": patch} for name, patch in pull.removed.items()
        ]
        for name, patch in pull.files.items():
            shown = {} if patch is None else {"patch": patch}
            files.append({"filename": name, "status": "modified", **shown})
        return 200, paged(files, query)

    def _review(self, number: str, *, body: dict[str, Any], **_: Any) -> Answer:
        pull = self.find(number)
        if body.get("event") != "COMMENT" or body.get("commit_id") not in self.commits:
            raise Refused(422, {"message": "Unprocessable Entity", "errors": ["Variable is invalid"]})
        errors = [error for it in body["comments"] for error in _errors(pull, it)]
        if errors:
            raise Refused(422, {"message": "Unprocessable Entity", "errors": errors})
        for comment in body["comments"]:
            text = hunk_lines(pull.patch(comment["path"]), comment["side"])[comment["line"]][2]
            self.add_thread(int(number), ME, text=text, **comment)
        pull.reviews += 1
        self.changed()
        return 200, {"id": next(self._ids)}

    def add_thread(self, number: int, author: str, **comment: Any) -> dict[str, Any]:
        """A comment on a line, of anybody."""
        thread = {
            "id": f"PRRT_{next(self._ids)}",
            "isResolved": False,
            "path": comment["path"],
            "line": comment["line"],
            "startLine": comment.get("start_line"),
            "diffSide": comment.get("side", "RIGHT"),
            "resolvedBy": None,
            "answers": [],
            "text": comment.get("text", ""),
            "comment": {"id": f"PRRC_{next(self._ids)}", "body": comment["body"], "author": author},
        }
        self.pulls[number].threads.append(thread)
        return thread

    def answer(
        self, thread: dict[str, Any], author: str, body: str, *, association: str = "MEMBER"
    ) -> dict[str, Any]:
        """An answer in a thread, of anybody; returns its event."""
        comment = {"id": f"PRRC_{next(self._ids)}", "body": body, "author": author}
        thread["answers"].append({**comment, "association": association, "at": self.clock()})
        return {
            "action": "created",
            "comment": {
                "node_id": comment["id"],
                "body": body,
                "user": {"login": author, "type": "User"},
                "author_association": association,
                "diff_hunk": f"@@ -1 +1 @@\n+{thread['text']}",
            },
            "pull_request": {"number": next(iter(self.pulls))},
            "repository": {"html_url": "https://git.example.com/example/shop"},
        }

    def resolve(self, thread: dict[str, Any], login: str | None) -> None:
        """A person resolves a thread; None: reopens it."""
        thread["isResolved"] = login is not None
        thread["resolvedBy"] = login and {"login": login}

    def _comment(self, number: str, *, body: dict[str, Any], **_: Any) -> Answer:
        _check_body(body["body"])
        comment = self.add_comment(int(number), ME, body["body"])
        self.changed()
        return 201, {"id": 1, "node_id": comment["id"]}

    def add_comment(self, number: int, author: str, body: str) -> dict[str, Any]:
        """A comment on the pull request, of anybody."""
        comment = {"id": f"IC_{next(self._ids)}", "body": body, "author": author}
        self.pulls[number].comments.append(comment)
        return comment

    def _commit(self, sha: str, **_: Any) -> Answer:
        if sha not in self.commits:
            raise Refused(422, {"message": f"No commit found for SHA: {sha}"})
        return 200, {"sha": sha, "parents": [{"sha": it} for it in self.commits[sha]]}

    def _combined(self, sha: str, **_: Any) -> Answer:
        newest = {it["context"]: it for known, it in self.statuses if known == sha}
        return 200, {"sha": sha, "statuses": list(newest.values())}

    def _status(self, sha: str, *, body: dict[str, Any], **_: Any) -> Answer:
        if sha not in self.commits:
            raise Refused(422, {"message": f"No commit found for SHA: {sha}"})
        if body["state"] not in ("error", "failure", "pending", "success") or len(body["description"]) > 140:
            raise Refused(422, {"message": "Validation Failed"})
        self.statuses.append((sha, body))
        self.changed()
        return 201, {"id": next(self._ids)}

    def _list_checks(self, sha: str, *, query: dict[str, str], **_: Any) -> Answer:
        runs = [it for it in self.checks if it["head_sha"] == sha and it["name"] == query["check_name"]]
        shown = [
            {**it, "output": {**it["output"], "annotations_count": len(it["output"]["annotations"])}}
            for it in runs[::-1]
        ]
        return 200, {"total_count": len(runs), "check_runs": shown}

    def _check(self, *, body: dict[str, Any], **_: Any) -> Answer:
        if body["conclusion"] not in ("success", "failure", "neutral", "action_required"):
            raise Refused(422, {"message": "Invalid request"})
        _check_annotations(body["output"])
        run = {"id": next(self._ids), **body, "output": {**body["output"]}}
        self.checks.append(run)
        self.changed()
        return 201, run

    def _add_annotations(self, number: str, *, body: dict[str, Any], **_: Any) -> Answer:
        _check_annotations(body["output"])
        (run,) = [it for it in self.checks if it["id"] == int(number)]
        run["conclusion"] = body["conclusion"]
        run["output"]["annotations"] = run["output"]["annotations"] + body["output"]["annotations"]
        self.changed()
        return 200, run

    def _sarif(self, *, body: dict[str, Any], **_: Any) -> Answer:
        if not self.has_code_scanning:
            raise Refused(403, {"message": "Advanced Security must be enabled for this repository"})
        is_ref = re.fullmatch(r"refs/(heads/.+|tags/.+|pull/\d+/(merge|head))", body["ref"])
        if not (is_ref and _SHA.fullmatch(body["commit_sha"])):
            raise Refused(422, {"message": "Invalid request"})
        sarif = json.loads(gzip.decompress(b64decode(body["sarif"], validate=True)))
        self.sarifs.append({**body, "sarif": sarif})
        self.changed()
        return 202, {"id": "1"}

    def _graphql(self, *, body: dict[str, Any], **_: Any) -> Answer:
        query, variables = body["query"], body["variables"]
        if query.startswith("query"):
            return 200, self._list(query, variables)
        verb = re.search(r"\{ (\w+)\(input", query)
        assert verb is not None
        return 200, self._mutate(verb[1], variables["input"])

    def _list(self, query: str, variables: dict[str, Any]) -> dict[str, Any]:
        pull = self.pulls.get(variables["number"])
        if pull is None or (variables["owner"], variables["name"]) != ("example", "shop"):
            return _graphql_error("NOT_FOUND", "Could not resolve to a PullRequest")
        if "closingIssuesReferences" in query:
            issues = {"closingIssuesReferences": {"nodes": pull.issues}}
            return {"data": {"repository": {"nameWithOwner": "example/shop", "pullRequest": issues}}}
        is_threads = "reviewThreads(" in query
        nodes = (
            list(map(_thread_node, pull.threads)) if is_threads else list(map(_comment_node, pull.comments))
        )
        start = int(variables["after"] or 0)
        end = start + min(self.page_size, 50)
        page = {
            "pageInfo": {"hasNextPage": end < len(nodes), "endCursor": str(end)},
            "nodes": nodes[start:end],
        }
        name = "reviewThreads" if is_threads else "comments"
        return {"data": {"repository": {"pullRequest": {name: page}}}}

    def _mutate(self, verb: str, fields: dict[str, Any]) -> dict[str, Any]:  # noqa: C901, PLR0911 - one branch each
        wanted = set(fields.values())
        for pull in self.pulls.values():
            for thread in pull.threads:
                if verb == "deletePullRequestReviewComment" and thread["comment"]["id"] in wanted:
                    pull.threads.remove(thread)
                    return self._done(verb)
                if verb in ("resolveReviewThread", "unresolveReviewThread") and thread["id"] in wanted:
                    if not self.may_resolve:
                        return _graphql_error("FORBIDDEN", "Resource not accessible by integration")
                    self.resolve(thread, ME if verb == "resolveReviewThread" else None)
                    return self._done(verb)
                if verb == "addPullRequestReviewThreadReply" and thread["id"] in wanted:
                    self.answer(thread, ME, fields["body"])
                    return self._done(verb)
                if verb == "updatePullRequestReviewComment" and thread["comment"]["id"] in wanted:
                    thread["comment"]["body"] = fields["body"]
                    return self._done(verb)
            for comment in pull.comments:
                if verb == "updateIssueComment" and comment["id"] in wanted:
                    comment["body"] = fields["body"]
                    return self._done(verb)
                if verb == "deleteIssueComment" and comment["id"] in wanted:
                    pull.comments.remove(comment)
                    return self._done(verb)
        return _graphql_error("NOT_FOUND", "Could not resolve to a node")

    def _done(self, verb: str) -> dict[str, Any]:
        self.changed()
        return {"data": {verb: {"clientMutationId": None}}}


def _check_annotations(output: dict[str, Any]) -> None:
    is_valid = output["title"] and output["summary"] and len(output["annotations"]) <= 50
    for it in output["annotations"]:
        is_valid &= it["annotation_level"] in ("notice", "warning", "failure") and bool(it["message"])
        is_valid &= 1 <= it["start_line"] <= it["end_line"]
    if not is_valid:
        raise Refused(422, {"message": "Invalid request"})


def _graphql_error(kind: str, message: str) -> dict[str, Any]:
    return {"data": None, "errors": [{"type": kind, "message": message}]}


def _comment_node(comment: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": comment["id"],
        "body": comment["body"],
        "viewerDidAuthor": comment["author"] == ME,
        "author": {"login": comment["author"]},
        "authorAssociation": comment.get("association", "MEMBER"),
        "createdAt": comment.get("at", "2026-01-01T00:00:00Z"),
    }


def _thread_node(thread: dict[str, Any]) -> dict[str, Any]:
    names = ("id", "isResolved", "resolvedBy", "path", "line", "startLine", "diffSide")
    nodes = list(map(_comment_node, [thread["comment"], *thread["answers"]]))
    return {**{name: thread[name] for name in names}, "comments": {"nodes": nodes}}


def _check_body(body: str) -> None:
    if not body.strip() or len(body) > _MAX_BODY:
        raise Refused(422, {"message": "Validation Failed", "errors": ["body is too long"]})


def _errors(pull: Pull, comment: dict[str, Any]) -> list[str]:
    _check_body(comment["body"])
    lines = hunk_lines(pull.patch(comment["path"]), comment.get("side", ""))
    if comment.get("side") not in ("LEFT", "RIGHT") or comment["line"] not in lines:
        return ["Pull request review thread line must be part of the diff"]
    start = comment.get("start_line")
    if start is None:
        return []
    if start >= comment["line"]:
        return ["Pull request review thread start line must precede the end line."]
    if start not in lines or lines[start][0] != lines[comment["line"]][0]:
        return ["Pull request review thread start line must be part of the same hunk as the line."]
    return []
