"""Events of GitHub and GitLab: refused unless signed, and once; they start reviews, and answer comments."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from documents.pages import Page
from live import until
from review_tools.open_pulls import CodeHost
from review_tools.schedules import ScheduleInstallation
from servers.code_hosts.github import GitHub
from servers.web import WebServer
from symposia.state.redis.connect import connect
from symposia.state.redis.keys import HOOK_QUEUE

SECRET = "the secret of the hook"
REPOSITORY = "https://git.example.com/example/shop"
DEADLINE_S = 60
PAGE = Page("docs/webhooks.md")
FILE = PAGE.take("toml", "[hooks.shop]")


def github_event(
    action: str = "opened", number: int = 5, head: str = "1" * 40, **more: Any
) -> dict[str, Any]:
    pull = {"number": number, "draft": False, "head": {"sha": head}}
    return {
        "action": action,
        "number": number,
        "pull_request": pull,
        "repository": {"full_name": "example/shop", "html_url": REPOSITORY},
        **more,
    }


def gitlab_event(action: str = "open", number: int = 5, **more: Any) -> dict[str, Any]:
    return {
        "object_kind": "merge_request",
        "project": {"path_with_namespace": "example/shop", "web_url": REPOSITORY},
        "object_attributes": {"iid": number, "action": action, **more},
    }


class Sender:
    """A code host that sends events to a real server."""

    def __init__(self, server: WebServer, kind: str) -> None:
        self.kind = kind
        self._address = f"http://127.0.0.1:{server.port}/hooks"
        self._count = 0

    def send(
        self,
        event: dict[str, Any] | bytes,
        *,
        secret: str = SECRET,
        name: str = "shop",
        delivery: str = "",
    ) -> httpx.Response:
        self._count += 1
        body = event if isinstance(event, bytes) else json.dumps(event).encode()
        delivery = delivery or f"{self.kind}-{self._count}"
        if self.kind == "github":
            mac = hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
            headers = {"X-Hub-Signature-256": f"sha256={mac}", "X-GitHub-Delivery": delivery}
        else:
            headers = {"X-Gitlab-Token": secret, "X-Gitlab-Event-UUID": delivery}
        return httpx.post(f"{self._address}/{self.kind}/{name}", content=body, headers=headers, timeout=30)

    def push(self, number: int) -> httpx.Response:
        """Send the event of a push to a pull request."""
        self._count += 1
        head = f"{self._count:040x}"
        return self.send(
            github_event("synchronize", number, head)
            if self.kind == "github"
            else gitlab_event("update", number, oldrev=head)
        )


@pytest.fixture
def web(installation: ScheduleInstallation, monkeypatch: pytest.MonkeyPatch) -> Iterator[WebServer]:
    monkeypatch.setenv("SHOP_HOOK_SECRET", SECRET)
    file = installation.folder / "webhooks.toml"
    file.write_text(FILE)
    files = {"webhooks_file": file, "deliveries_file": installation.folder / "deliveries.toml"}
    installation.chosen |= files
    texts = {
        name: json.dumps({key: str(path) for key, path in value.items()})
        if isinstance(value, dict)
        else str(value)
        for name, value in installation.settings.items()
    }
    server = WebServer(installation.folder, texts).start()
    yield server
    server.close()


@pytest.fixture
def queued(installation: ScheduleInstallation) -> Iterator[Any]:
    """Returns the queued work."""
    with connect(installation.redis_url) as redis:
        yield lambda: redis.zrange(HOOK_QUEUE, 0, -1)


@pytest.mark.parametrize("kind", ["github", "gitlab"])
def test_event_is_checked_and_queued_once(web: WebServer, queued: Any, kind: str) -> None:
    sender = Sender(web, kind)
    event = github_event() if kind == "github" else gitlab_event()
    assert sender.send(event, secret="another").status_code == 401
    assert sender.send(event, secret="").status_code == 401
    assert sender.send(event, name="other").status_code == 404
    assert sender.send(b"{").status_code == 422
    assert sender.send(b"x" * 1_100_000).status_code == 413
    foreign = json.loads(json.dumps(event).replace("example/shop", "example/shop2"))
    refused = sender.send(foreign)
    assert (refused.status_code, "must be example/shop" in refused.text) == (422, True)
    assert queued() == []
    answer = sender.send(event, delivery="one")
    assert (answer.status_code, answer.json()) == (202, {"result": "queued"})
    assert sender.send(event, delivery="two").json() == {"result": "repeated"}, "the same body"
    other = {**event, "more": 1}
    assert sender.send(other, delivery="one").json() == {"result": "repeated"}, "the same delivery"
    closed = github_event("closed") if kind == "github" else gitlab_event("close")
    assert sender.send(closed).json() == {"result": "ignored"}
    for _ in range(3):
        assert sender.push(5).json() == {"result": "queued"}
    assert queued() == ["review|shop"]
    assert SECRET not in web.log_file.read_text()


def test_wrong_file_is_not_shown_to_hosts(web: WebServer, installation: ScheduleInstallation) -> None:
    file = installation.folder / "webhooks.toml"
    file.write_text("[hooks.shop]\n")
    answer = Sender(web, "github").send(github_event())
    assert (answer.status_code, answer.json()["detail"]) == (503, "the hook is not configured on this server")
    assert "webhooks.toml" in web.log_file.read_text()
    file.unlink()
    answer = Sender(web, "github").send(github_event())
    assert (answer.status_code, "webhooks" in answer.text) == (503, False)


def test_ping_and_other_events_are_ignored(web: WebServer, queued: Any) -> None:
    repository = github_event()["repository"]
    for event in ({"zen": "Keep it", "hook": {}}, {"ref": "refs/heads/main"}, {"action": "labeled"}):
        assert Sender(web, "github").send({**event, "repository": repository}).json() == {"result": "ignored"}
    project = gitlab_event()["project"]
    push = {"object_kind": "push", "project": project}
    for event in (push, gitlab_event("update", title="new"), gitlab_event("approved")):
        assert Sender(web, "gitlab").send(event).json() == {"result": "ignored"}
    assert queued() == []


def test_comment_is_stored_without_other_fields(
    installation: ScheduleInstallation, web: WebServer, queued: Any
) -> None:
    comment = {"node_id": "C1", "body": "/ignore", "user": {"login": "ann", "type": "User"}}
    event = github_event("created", comment={**comment, "url": "https://example.com"}, sender={"id": 7})
    assert Sender(web, "github").send(event).status_code == 202
    (entry,) = queued()
    assert entry.startswith("comment|shop|")
    with connect(installation.redis_url) as redis:
        (key,) = redis.scan_iter("symposia:{hooks}:event:*")
        assert json.loads(redis.get(key))["event"] == {
            "action": "created",
            "comment": {"node_id": "C1", "body": "/ignore", "user": {"type": "User"}},
            "pull_request": {"number": 5},
            "repository": {"html_url": REPOSITORY},
        }


@pytest.mark.long
@pytest.mark.timeout(240)
def test_pushes_are_reviewed_at_the_newest_commit(
    installation: ScheduleInstallation, web: WebServer, host: CodeHost, queued: Any
) -> None:
    review = {"panel": "at_once", "root": "shop", "deliver": ["pulls"], "open_pull_requests": "pulls"}
    installation.client.schedules.add("pulls", cron="@yearly", review=review)
    sender = Sender(web, "github" if host.is_github else "gitlab")
    for text in ("first\n", "second\n", "third\n"):
        host.push(5, text)
        assert sender.push(5).status_code == 202
    installation.start_worker()
    until(lambda: "change5.txt" in host.summary(5), timeout_s=DEADLINE_S, what="the review is delivered")
    until(lambda: not queued(), timeout_s=DEADLINE_S, what="nothing is left to do")
    assert len(installation.client.reviews().items) == 1
    host.push(5, "fourth\n")
    assert sender.push(5).status_code == 202
    until(lambda: len(installation.client.reviews().items) == 2, timeout_s=DEADLINE_S, what="a second review")


@pytest.mark.long
@pytest.mark.timeout(240)
@pytest.mark.parametrize("host", [GitHub], indirect=True)
def test_command_in_a_comment_starts_a_review(
    installation: ScheduleInstallation, web: WebServer, host: CodeHost, queued: Any
) -> None:
    review = {"panel": "at_once", "root": "shop", "deliver": ["pulls"], "open_pull_requests": "pulls"}
    installation.client.schedules.add("pulls", cron="@yearly", review=review)
    host.push(5, "first\n")
    installation.start_worker()
    sender = Sender(web, "github")
    sender.push(5)
    until(lambda: "change5.txt" in host.summary(5), timeout_s=DEADLINE_S, what="the review is delivered")
    schedules = installation.client.schedules
    until(lambda: schedules.get("pulls").running is None, timeout_s=DEADLINE_S, what="the run has ended")
    comment = {"node_id": "C1", "body": "/review", "user": {"type": "User"}, "author_association": "MEMBER"}
    event = {"action": "created", "comment": comment, "issue": {"number": 5, "pull_request": {}}}
    assert sender.send({**event, "repository": {"html_url": REPOSITORY}}).status_code == 202
    until(lambda: len(installation.client.reviews().items) == 2, timeout_s=DEADLINE_S, what="a second review")
    until(lambda: not queued(), timeout_s=DEADLINE_S, what="nothing is left to do")
