"""Users of Flower with rights of their own: what they see, what they may do, and whose name actions have."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from live import until
from servers.dashboard import Dashboard
from servers.flower import FlowerServer, action_headers, basic
from symposia.config.field_types import FlowerUser
from symposia.dashboard.access import find_caller, refusal, scope_of
from symposia.jobs.collab import CollabJob
from symposia.models.identity import LOCAL, Caller, Scope
from symposia.models.sessions.stop_conditions import MaxRounds

USERS = {
    "ann": {"tenant": "shop", "scopes": ["read", "reply", "control"]},
    "eve": {"tenant": "acme", "scopes": ["read", "reply", "control"]},
    "rob": {"tenant": "shop", "scopes": ["read"]},
    "root": {"scopes": ["admin"]},
    "guest": {"scopes": ["read"]},
}
ID = "0b7b1f5e-3f0e-4c1b-9d55-0a4d2c4c7d11"


@pytest.mark.parametrize(
    ("method", "path", "scope"),
    [
        ("GET", f"/collabs/{ID}", Scope.READ),
        ("POST", f"/api/collabs/{ID}/reply", Scope.REPLY),
        ("POST", f"/api/collabs/{ID}/post", Scope.CONTROL),
        ("POST", "/api/inbox/reply", Scope.REPLY),
        ("POST", f"/api/collabs/{ID}/fork", Scope.SUBMIT),
        ("POST", f"/api/collabs/{ID}/cancel", Scope.CONTROL),
        ("POST", "/api/collabs/bulk", Scope.CONTROL),
        ("POST", "/api/schedules/nightly/run", Scope.CONTROL),
        ("POST", f"/api/reviews/{ID}/cancel", Scope.CONTROL),
        ("POST", "/api/worker/shutdown/w1", Scope.ADMIN),
        ("PUT", "/tasks", Scope.ADMIN),
    ],
)
def test_action_has_its_scope(method: str, path: str, scope: Scope) -> None:
    assert scope_of(method, path) is scope
    assert refusal(LOCAL, method, path) is None


@pytest.mark.parametrize(
    "path",
    [
        *("/", "/workers", "/tasks", "/broker", "/schedules", "/reviews", "/api/inbox", "/api/collabs"),
        *("/api/health", "/api/collabs/stream", f"/collabs/tasks/{ID}", "/api/tasks", f"/x/collabs/{ID}"),
    ],
)
def test_page_of_all_tenants_is_for_users_of_all(path: str) -> None:
    of_shop = Caller("ann", "shop", frozenset({Scope.ADMIN}))
    assert refusal(of_shop, "GET", path) is not None
    assert refusal(Caller("guest", None, frozenset({Scope.READ})), "GET", path) is None


def test_live_parts_are_those_of_a_page() -> None:
    of_shop = Caller("ann", "shop", frozenset({Scope.READ}))
    path = "/api/collabs/stream"
    assert refusal(of_shop, "GET", path, "inbox") is None
    assert refusal(of_shop, "GET", path, "schedules") is not None
    assert refusal(of_shop, "GET", path, "") is not None


def test_setting_names_all_users() -> None:
    ann = FlowerUser(tenant="shop", scopes=(Scope.READ,))
    assert find_caller({}, "anyone") is LOCAL
    assert find_caller({"ann": ann}, "ann") == Caller("ann", "shop", frozenset({Scope.READ}))
    assert find_caller({"ann": ann}, "") is find_caller({"ann": ann}, "bob") is None


@dataclass
class Users:
    """A Flower with users, and a session of the tenant `shop` in which bob is asked."""

    flower: FlowerServer
    job: CollabJob

    def get(self, user: str, path: str) -> Any:
        return self.flower.get(path, **basic(f"{user}:secret"))

    def post(self, user: str, path: str, body: object = None) -> int:
        # The token of a page is not that of a user: whoever has one must still have the right.
        headers = action_headers(self.flower, "root:secret") | basic(f"{user}:secret")
        return self.flower.post(path, body, **headers).status


@pytest.fixture(scope="module")
def users(dashboard: Dashboard) -> Iterator[Users]:
    settings = {**dashboard.settings, "flower_users": json.dumps(USERS)}
    logins = ",".join(f"{name}:secret" for name in (*USERS, "stranger"))
    flower = FlowerServer(dashboard.folder, settings, {"FLOWER_BASIC_AUTH": logins}).start()
    job = dashboard.submit(
        "pair", {"ann": "say", "bob": "human"}, title="Of the shop", stop=MaxRounds(1), tenant="shop"
    )
    try:
        until(job.pending, what="bob is asked")
        until(
            lambda: job.id in flower.get("/api/collabs/search", **basic("ann:secret")).text,
            what="Flower shows the session",
        )
        yield Users(flower, job)
    finally:
        job.cancel()
        flower.kill()


@pytest.mark.long
def test_tenant_sees_its_sessions_only(users: Users) -> None:
    page, data = f"/collabs/{users.job.id}", f"/api/collabs/{users.job.id}"
    lists = (
        "/collabs",
        "/inbox",
        "/api/collabs/search",
        "/api/collabs/search?tenant=shop",
        "/collabs?tenant=shop",
    )
    live = ("/api/collabs/changes?view=inbox", "/api/collabs/changes?view=collabs")
    for path in (page, data, f"{data}/export/json", *lists):
        for user in ("ann", "rob", "root", "guest"):
            answer = users.get(user, path)
            assert answer.status == 200, (user, path)
            assert users.job.id in answer.text, (user, path)
    for path in (page, data, f"{data}/events", f"{data}/export/json", f"{data}/stream"):
        assert users.get("eve", path).status == 404, path
    for path in (*lists, *live):
        answer = users.get("eve", path)
        assert answer.status == 200, path
        assert users.job.id not in answer.text, path
        assert "Of the shop" not in answer.text, path
    export = f"/collabs/export?id={users.job.id}"
    for user, status in (("ann", 200), ("eve", 404)):
        with users.flower.opened("GET", export, basic(f"{user}:secret")) as response:
            assert response.status == status, user


@pytest.mark.long
def test_pages_of_flower_are_for_users_of_all_tenants(users: Users) -> None:
    for path in ("/workers", "/tasks", "/broker", "/schedules", "/reviews", "/api/workers", "/api/inbox"):
        assert users.get("ann", path).status == 403, path
        assert users.get("stranger", path).status == 403, path
        assert users.get("root", path).status == 200, path
    assert users.get("stranger", "/collabs").status == 403
    assert users.flower.post("/api/worker/shutdown/w1", **basic("guest:secret")).status == 403
    assert users.flower.get("/healthcheck").status == 200
    assert users.flower.get("/collabs").status == 401


@pytest.mark.long
def test_users_need_authentication_of_flower(dashboard: Dashboard) -> None:
    settings = {**dashboard.settings, "flower_users": json.dumps(USERS)}
    flower = FlowerServer(dashboard.folder, settings).start()
    try:
        for path in ("/collabs", "/workers", "/api/collabs/search"):
            assert flower.get(path).status == flower.get(path, **basic("root:guessed")).status == 403, path
    finally:
        flower.kill()


@pytest.mark.long
def test_actions_need_the_scope_and_the_tenant(users: Users) -> None:
    path = f"/api/collabs/{users.job.id}"
    question = users.get("root", path).json()["questions"][0]
    reply = {"session": users.job.id, "question": question["id"], "participant": "bob", "text": "No."}
    version = users.job.state().version
    everything = {"action": "cancel", "query": {}}
    assert users.post("rob", f"{path}/cancel") == users.post("guest", f"{path}/cancel") == 403
    assert users.post("eve", f"{path}/cancel") == users.post("eve", "/api/inbox/reply", reply) == 404
    assert users.post("eve", "/api/collabs/bulk", {"action": "cancel", "ids": [users.job.id]}) == 404
    assert users.post("eve", "/api/collabs/bulk", everything | {"query": {"tenant": "shop"}}) == 200
    assert users.post("rob", "/api/inbox/reply", reply) == 403
    assert users.post("ann", f"{path}/fork", {"turn": 1}) == 403
    assert users.job.state().version == version
    for user, shows in (("ann", True), ("rob", False), ("root", True)):
        assert ("data-actions" in users.get(user, "/collabs").text) == shows, user
    assert users.post("ann", f"{path}/suspend") == 200
    assert users.job.state().actor == "ann"
    assert users.post("root", f"{path}/resume") == 200
