"""Open pull requests of a repository, and the issues that they close.

The author of a pull request decides which issues it names, and the token may read others than people who see the
comments. So only issues that all of these may read are returned: in GitLab, none of a project that shows its merge
requests to more people than its issues.

Source: https://docs.github.com/graphql, https://docs.gitlab.com/api/merge_requests.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any
from urllib.parse import quote

from ...values.changes import MAX_ISSUES, LinkedIssue
from ..deliveries_file import GithubEntry, GitlabEntry
from .api import FORBIDDEN, HostApi

#: Maximum open pull requests that are listed, the oldest first: this order does not change while pages are read.
MAX_OPEN = 1_000
_ISSUES = """query($owner: String!, $name: String!, $number: Int!) {
  repository(owner: $owner, name: $name) { nameWithOwner pullRequest(number: $number) {
    closingIssuesReferences(first: 20) { nodes { number title body repository { nameWithOwner isPrivate } } } } } }"""


@dataclass(frozen=True, slots=True)
class OpenPull:
    """An open pull request (in GitLab: merge request)."""

    number: int
    #: Its newest commit, and the branch that it is merged into.
    head: str
    base: str
    #: Reference to the newest commit, without `refs/`.
    ref: str
    title: str
    description: str
    #: False: it is a draft, or has no commit.
    is_ready: bool = True


class GithubPulls:
    """Open pull requests of a GitHub repository. The methods raise DeliveryFailed."""

    def __init__(self, entry: GithubEntry, api: HostApi) -> None:
        self._api = api
        self._owner, _, self._name = entry.repository.partition("/")

    def list_open(self) -> Sequence[OpenPull]:
        """Return the open pull requests, at most MAX_OPEN, the oldest first."""
        path = f"/repos/{quote(self._owner)}/{quote(self._name)}/pulls?state=open&sort=created&direction=asc"
        return [
            OpenPull(
                number=pull["number"],
                head=pull["head"]["sha"],
                base=pull["base"]["ref"],
                ref=f"pull/{pull['number']}/head",
                title=pull["title"] or "",
                description=pull["body"] or "",
                is_ready=not pull.get("draft"),
            )
            for pull in islice(self._api.pages(path), MAX_OPEN)
        ]

    def linked_issues(self, number: int) -> Sequence[LinkedIssue]:
        """Return issues that a pull request closes: of its repository, or of a public one; none if the token may not."""
        variables = {"owner": self._owner, "name": self._name, "number": number}
        data = self._api.graphql(_ISSUES, variables, accept=FORBIDDEN)
        if not data:  # the token may not read issues
            return ()
        repository = data["repository"]
        own = repository["nameWithOwner"]
        nodes = [
            node
            for node in repository["pullRequest"]["closingIssuesReferences"]["nodes"]
            if node["repository"]["nameWithOwner"] == own or not node["repository"]["isPrivate"]
        ]
        return [_github_issue(node, own) for node in nodes[:MAX_ISSUES]]


def _github_issue(node: dict[str, Any], own: str) -> LinkedIssue:
    repository = node["repository"]["nameWithOwner"]
    name = f"{'' if repository == own else repository}#{node['number']}"
    return LinkedIssue(name=name, title=node["title"], description=node["body"] or "")


class GitlabPulls:
    """Open merge requests of a GitLab project. The methods raise DeliveryFailed."""

    def __init__(self, entry: GitlabEntry, api: HostApi) -> None:
        self._api = api
        self._project = f"/projects/{quote(entry.project, safe='')}"
        self._path = f"{self._project}/merge_requests"

    def list_open(self) -> Sequence[OpenPull]:
        """Return the open merge requests, at most MAX_OPEN, the oldest first."""
        path = f"{self._path}?state=opened&order_by=created_at&sort=asc"
        return [
            OpenPull(
                number=pull["iid"],
                head=pull["sha"] or "",
                base=pull["target_branch"],
                ref=f"merge-requests/{pull['iid']}/head",
                title=pull["title"] or "",
                description=pull["description"] or "",
                is_ready=bool(pull["sha"]) and not pull.get("draft"),
            )
            for pull in islice(self._api.pages(path), MAX_OPEN)
        ]

    def linked_issues(self, number: int) -> Sequence[LinkedIssue]:
        """Return issues that a merge request closes: those that all who see merge requests of its project may read."""
        project = self._api.call("GET", self._project).data
        if _access(project, "issues") < max(_access(project, "merge_requests"), 1):
            return ()
        answer = self._api.call("GET", f"{self._path}/{number}/closes_issues", accept=(403,))
        issues = [
            issue
            for issue in (answer.data if answer.status == 200 else ())
            if issue.get("project_id") == project["id"] and not issue.get("confidential", True)
        ]
        return [
            LinkedIssue(name=f"#{issue['iid']}", title=issue["title"], description=issue["description"] or "")
            for issue in issues[:MAX_ISSUES]
        ]


def _access(project: dict[str, Any], feature: str) -> int:
    """Return how many people of a GitLab project may read a feature, as a rank; 0: nobody, or that is not given."""
    levels = ("disabled", "private", "enabled", "public")
    level = project.get(f"{feature}_access_level")
    return levels.index(level) if level in levels else 0


def open_pulls_of(entry: GithubEntry | GitlabEntry, api: HostApi) -> GithubPulls | GitlabPulls:
    """Return the open pull requests of a code host."""
    return GithubPulls(entry, api) if isinstance(entry, GithubEntry) else GitlabPulls(entry, api)
