"""A code host with open pull requests, and a clone of its repository as a root."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from review_tools.git_tree import GitTree
from review_tools.schedules import ScheduleInstallation
from servers.code_hosts.github import GitHub, Pull
from servers.code_hosts.gitlab import GitLab, MergeRequest
from servers.code_hosts.json_server import TOKEN


@dataclass
class CodeHost:
    """A code host, with the repository that it serves."""

    server: GitHub | GitLab
    remote: GitTree

    @property
    def is_github(self) -> bool:
        return isinstance(self.server, GitHub)

    def push(self, number: int, text: str) -> None:
        """Push a commit to a pull request."""
        self.remote.git("checkout", "-q", "-B", "feature", "main")
        self.remote.put(f"change{number}.txt", text)
        head = self.remote.commit()
        folder = "pull" if self.is_github else "merge-requests"
        self.remote.git("update-ref", f"refs/{folder}/{number}/head", head)
        self.remote.git("checkout", "-q", "main")
        self.open(number, head)

    def open(self, number: int, head: str) -> None:
        """List a pull request with this commit."""
        self.server.commits[head] = []
        if isinstance(self.server, GitHub):
            self.server.pulls.setdefault(number, Pull(head, {})).head = head
        else:
            self.server.merge_requests.setdefault(number, MergeRequest(head, {})).head = head

    def summary(self, number: int) -> str:
        """The text of the only comment on a pull request; empty: there is none."""
        if isinstance(self.server, GitHub):
            comments = self.server.pulls[number].comments
        else:
            comments = self.server.merge_requests[number].notes
        return "\n".join(comment["body"] for comment in comments)

    def entry(self) -> str:
        name = "repository" if self.is_github else "project"
        kind = "github" if self.is_github else "gitlab"
        return (
            f'[pulls]\nkind = "{kind}"\n{name} = "example/shop"\napi_url = "{self.server.url}"\n'
            'token_env = "HOST_TOKEN"\nnetworks = ["127.0.0.0/8"]\n'
        )


@pytest.fixture(params=[GitHub, GitLab])
def host(
    request: pytest.FixtureRequest, installation: ScheduleInstallation, monkeypatch: pytest.MonkeyPatch
) -> Iterator[CodeHost]:
    monkeypatch.setenv("HOST_TOKEN", TOKEN)
    installation.write_shop()
    (installation.folder / "shop").rename(installation.folder / "remote")
    remote = GitTree(installation.folder / "remote")
    remote.commit()
    remote.git("clone", "-q", str(remote.folder), str(installation.folder / "shop"))
    host = CodeHost(request.param(), remote)
    (installation.folder / "deliveries.toml").write_text(host.entry())
    yield host
    host.server.close()
