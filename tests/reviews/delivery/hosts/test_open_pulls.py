"""Open pull requests of GitHub and merge requests of GitLab, and the issues that they close."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from review_tools.pulls import HEAD, NEXT, destinations
from servers.code_hosts.github import GitHub, Pull
from servers.code_hosts.gitlab import GitLab, MergeRequest
from servers.code_hosts.json_server import TOKEN
from symposia.models.errors import DeliveryFailed, InvalidInput
from symposia.reviews.delivery.destinations import Destinations
from symposia.reviews.values.changes import LinkedIssue

#: Issues that may be shown, then one that people who see the pull request may not read.
GITHUB_ISSUES = [
    ("example/shop", 4, False),
    ("example/other", 5, False),
    ("example/secret", 6, True),
]
GITLAB_ISSUES = [(4, 1, False), (5, 1, True), (6, 2, False)]


@pytest.fixture(params=["github", "gitlab"])
def host(request: pytest.FixtureRequest) -> Iterator[GitHub | GitLab]:
    server: GitHub | GitLab
    if request.param == "github":
        server = GitHub()
        server.pulls = {number: Pull(HEAD, {}) for number in range(1, 121)}
        server.pulls[7] = Pull(NEXT, {}, more={"title": "Faster", "body": "Closes #4."})
        server.pulls[8].more = {"draft": True}
        server.pulls[7].issues = [
            {
                "number": number,
                "title": "Slow",
                "body": None,
                "repository": {"nameWithOwner": repository, "isPrivate": is_private},
            }
            for repository, number, is_private in GITHUB_ISSUES
        ]
    else:
        server = GitLab()
        server.merge_requests = {number: MergeRequest(HEAD, {}) for number in range(1, 121)}
        server.merge_requests[7] = MergeRequest(
            NEXT, {}, more={"title": "Faster", "description": "Closes #4."}
        )
        server.merge_requests[8].more = {"draft": True}
        server.merge_requests[7].issues = [
            {
                "iid": number,
                "project_id": project,
                "title": "Slow",
                "description": None,
                "confidential": is_secret,
            }
            for number, project, is_secret in GITLAB_ISSUES
        ]
    yield server
    server.close()


def hosts(host: GitHub | GitLab, token: str = TOKEN) -> Destinations:
    is_github = isinstance(host, GitHub)
    names = (
        {"kind": "github", "repository": "example/shop"}
        if is_github
        else {"kind": "gitlab", "project": "example/shop"}
    )
    entry: dict[str, Any] = {"api_url": host.url, "token_env": "HOST_TOKEN", "networks": ["127.0.0.0/8"]}
    return destinations(token, host={**names, **entry}, shelf={"kind": "folder", "folder": "/srv"})


def test_open_pull_requests_are_listed_with_drafts(host: GitHub | GitLab) -> None:
    pulls = {pull.number: pull for pull in hosts(host).list_open_pulls("host")}
    assert sorted(pulls) == list(range(1, 121))
    assert [number for number, pull in pulls.items() if not pull.is_ready] == [8]
    pull = pulls[7]
    assert (pull.head, pull.base, pull.title, pull.description) == (NEXT, "main", "Faster", "Closes #4.")
    assert pull.ref == ("pull/7/head" if isinstance(host, GitHub) else "merge-requests/7/head")


def test_issues_that_others_may_not_read_are_left_out(host: GitHub | GitLab) -> None:
    other = [LinkedIssue(name="example/other#5", title="Slow")] if isinstance(host, GitHub) else []
    issues = hosts(host).linked_issues("host", 7)
    assert list(issues) == [LinkedIssue(name="#4", title="Slow"), *other]


@pytest.mark.parametrize("host", ["gitlab"], indirect=True)
@pytest.mark.parametrize(
    ("issues", "merge_requests", "count"),
    [("private", "enabled", 0), ("private", "private", 1), ("enabled", "private", 1), (None, None, 0)],
)
def test_issues_that_fewer_people_may_read_are_left_out(
    host: GitLab, issues: str, merge_requests: str, count: int
) -> None:
    host.access = {"issues_access_level": issues, "merge_requests_access_level": merge_requests}
    assert len(hosts(host).linked_issues("host", 7)) == count


@pytest.mark.parametrize("host", ["github"], indirect=True)
def test_token_that_may_not_read_issues_gets_none(host: GitHub) -> None:
    errors = [{"type": "FORBIDDEN", "message": "Resource not accessible by integration"}]
    host.in_front["POST"] = [(200, {}, {"data": None, "errors": errors})]
    assert list(hosts(host).linked_issues("host", 7)) == []


@pytest.mark.parametrize(
    ("name", "token", "error", "line"),
    [
        ("host", "", DeliveryFailed, "HOST_TOKEN is not set"),
        ("host", "wrong", DeliveryFailed, "the token in HOST_TOKEN is not valid"),
        ("shelf", TOKEN, InvalidInput, "must be a delivery of the kind github or gitlab"),
        ("hots", TOKEN, InvalidInput, "must be a delivery of the deliveries file: host"),
    ],
)
def test_host_that_cannot_be_asked_is_an_error(
    host: GitHub | GitLab, name: str, token: str, error: type[Exception], line: str
) -> None:
    with pytest.raises(error, match=line):
        hosts(host, token).list_open_pulls(name)
