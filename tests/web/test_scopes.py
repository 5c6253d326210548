"""Which scope each route needs: the whole application, route by route.

A new route needs a row in `TABLE`. Without a token each answers 401, with a token of another scope 403, and with that
of another tenant 404, or nothing in a list.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import pytest
from fastapi import FastAPI
from starlette.routing import BaseRoute, Mount, Route
from starlette.testclient import TestClient

from live import until
from symposia.client.aio.client import AsyncClient
from symposia.dashboard.access import scope_of
from symposia.dashboard.handlers.session_actions import ACTIONS
from symposia.jobs.collab import CollabJob
from symposia.models.identity import Scope
from symposia.web.app import create_app

COLLAB: dict[str, Any] = {
    "title": "Doors of the shop",
    "purpose": "p",
    "mode": "round_robin",
    "participants": [
        {"participant_id": "ann", "agent": "careful"},
        {"participant_id": "ben", "agent": "say"},
    ],
}


@dataclass(frozen=True)
class Row:
    """What a route needs; None: it is public."""

    scope: Scope | None
    #: A body that the route takes.
    body: dict[str, Any] | None = None
    query: str = ""
    #: Whether it is of no tenant, so that callers of one tenant lack the right.
    all_tenants: bool = False
    #: Whether each known caller may call it.
    any_scope: bool = False


PUBLIC = Row(None)
READ = Row(Scope.READ)
READ_ALL = Row(Scope.READ, all_tenants=True)
CONTROL_ALL = Row(Scope.CONTROL, all_tenants=True)
ONE = "/v1/sessions/{session_id}"
TABLE: dict[tuple[str, str], Row] = {
    ("GET", "/v1/openapi.json"): PUBLIC,
    # Files of the page, without data.
    ("GET", "/"): PUBLIC,
    ("GET", "/static/{file}"): PUBLIC,
    # Signatures are the credentials of code hosts.
    ("POST", "/hooks/{host}/{name}"): PUBLIC,
    # Signed links are the credentials of persons who get notices.
    ("GET", "/answers/{token}"): PUBLIC,
    ("POST", "/answers/{token}"): PUBLIC,
    # Its tools need their scopes.
    ("ANY", "/mcp"): Row(Scope.READ, {}, any_scope=True),
    ("GET", "/v1/files"): READ,
    ("GET", "/v1/files/{name}"): READ,
    ("POST", "/v1/sessions"): Row(Scope.SUBMIT, {"session": COLLAB, "draft": True}),
    ("GET", "/v1/sessions"): READ,
    ("GET", ONE): READ,
    ("GET", f"{ONE}/messages"): READ,
    ("GET", f"{ONE}/events"): READ,
    ("GET", f"{ONE}/result"): READ,
    ("GET", f"{ONE}/turns"): READ,
    ("GET", f"{ONE}/transcript"): READ,
    ("GET", f"{ONE}/usage"): READ,
    ("GET", f"{ONE}/attachments"): READ,
    ("GET", f"{ONE}/attachments/{{wanted}}"): READ,
    ("GET", f"{ONE}/questions"): READ,
    ("POST", f"{ONE}/questions/{{turn_id}}/reply"): Row(Scope.REPLY, {"as": "ann", "text": "Yes."}),
    **{("POST", f"{ONE}/{verb}"): Row(Scope.CONTROL) for verb in ("suspend", "resume", "stop", "cancel")},
    # Of a session that was submitted as a draft.
    ("POST", f"{ONE}/activate"): Row(Scope.SUBMIT),
    ("POST", f"{ONE}/instruct"): Row(Scope.CONTROL, {"participant": "ann", "text": "Be kind."}),
    ("POST", f"{ONE}/post"): Row(Scope.CONTROL, {"text": "Hello."}),
    ("POST", f"{ONE}/participants"): Row(Scope.CONTROL, {"participant": "cyd", "agent": "say"}),
    ("DELETE", f"{ONE}/participants/{{name}}"): Row(Scope.CONTROL),
    ("POST", f"{ONE}/continue"): Row(Scope.SUBMIT, {"text": "Once more."}),
    ("POST", f"{ONE}/fork"): Row(Scope.SUBMIT, {"at_turn": 1}),
    ("GET", "/a2a/{name}/.well-known/agent-card.json"): READ,
    ("POST", "/a2a/{name}"): Row(Scope.READ, {"jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": {}}),
    ("POST", "/agui/{name}"): Row(Scope.SUBMIT, {"threadId": "t", "runId": "r", "messages": []}),
    ("POST", "/ui/{name}"): Row(
        Scope.SUBMIT, {"id": "c", "messages": [{"id": "m", "role": "user", "parts": []}]}
    ),
    ("GET", "/v1/questions"): READ,
    ("GET", "/v1/archive/sessions"): Row(Scope.READ, query="?q=doors"),
    ("GET", "/v1/reviews"): READ_ALL,
    ("POST", "/v1/reviews"): Row(Scope.CONTROL, {"root": "none"}, all_tenants=True),
    ("GET", "/v1/reviews/{review_id}"): READ_ALL,
    ("POST", "/v1/reviews/{review_id}/cancel"): CONTROL_ALL,
    ("GET", "/v1/reviews/{review_id}/report.{form}"): READ_ALL,
    ("GET", "/v1/schedules"): READ_ALL,
    ("POST", "/v1/schedules"): Row(
        Scope.CONTROL, {"name": "n", "every": "1h", "job": "none"}, all_tenants=True
    ),
    ("GET", "/v1/schedules/{name}"): READ_ALL,
    ("PUT", "/v1/schedules/{name}"): Row(Scope.CONTROL, {"every": "1h", "job": "none"}, all_tenants=True),
    ("DELETE", "/v1/schedules/{name}"): CONTROL_ALL,
    ("GET", "/v1/schedules/{name}/history"): READ_ALL,
    **{("POST", f"/v1/schedules/{{name}}/{verb}"): CONTROL_ALL for verb in ("run", "pause", "resume")},
}
#: Routes whose answer is a list of what the tenant has.
LISTS = ("/v1/sessions", "/v1/questions", "/v1/archive/sessions?q=delete", "/v1/reviews", "/v1/schedules")


def walk(routes: Iterable[BaseRoute], prefix: str = "") -> Iterator[tuple[str, str]]:
    """The method and path of each route; of a mounted application without routes, `ANY` and its path."""
    for route in routes:
        if isinstance(route, Mount):
            inner = list(walk(route.routes or (), f"{prefix}{route.path}"))
            yield from inner or [("ANY", f"{prefix}{route.path}")]
        elif isinstance(route, Route) or hasattr(route, "methods"):
            yield from ((method, f"{prefix}{route.path}") for method in (route.methods or {"ANY"}) - {"HEAD"})
        elif (router := getattr(route, "original_router", None)) is not None:  # an included one of FastAPI
            yield from walk(router.routes, prefix)
        else:
            raise AssertionError(f"a route of unknown kind: {route}")


@dataclass
class Callers:
    """The application, and tokens of two tenants."""

    app: FastAPI
    http: TestClient
    tokens: dict[tuple[str | None, str], str]
    #: A session of the tenant `shop` with an open question.
    job: CollabJob

    def call(self, key: tuple[str, str], row: Row, token: str | None, session_id: str | None = None) -> Any:
        method, path = key
        names = {"session_id": session_id or str(uuid4()), "turn_id": 1, "review_id": uuid4(), "name": "none"}
        names |= {"wanted": "none", "form": "html", "host": "github", "file": "talk.css", "token": "none"}
        for name, value in names.items():
            path = path.replace(f"{{{name}}}", str(value))
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        return self.http.request(
            "POST" if method == "ANY" else method, f"{path}{row.query}", json=row.body, headers=headers
        )


@pytest.fixture(scope="module")
def callers(web: Any) -> Iterator[Callers]:
    person = [{"participant_id": "ann", "kind": "human"}]
    job = web.client.submit({**COLLAB, "participants": person}, tenant="shop", owner="ann")
    until(job.pending, what="a question")
    store = web.client.tokens
    tokens = {
        (tenant, scope): store.create(scope, tenant=tenant, scopes=[scope], expires="1h").text
        for tenant in ("shop", "acme", None)
        for scope in Scope
    }
    app = create_app(web.client.settings, client=AsyncClient(web.client.settings))
    with TestClient(app, base_url="http://127.0.0.1", client=("127.0.0.1", 1)) as http:
        yield Callers(app, http, tokens, job)
        http.portal.call(app.state.symposia.client.close)
    job.cancel()


def rows(callers: Callers) -> dict[tuple[str, str], Row]:
    return {key: TABLE[key] for key in walk(callers.app.routes) if key in TABLE}


@pytest.mark.parametrize("action", [one for one in ACTIONS if ("POST", f"{ONE}/{one}") in TABLE])
def test_actions_of_flower_need_the_same_scope(action: str) -> None:
    assert scope_of("POST", f"/api/collabs/{uuid4()}/{action}") is TABLE["POST", f"{ONE}/{action}"].scope


def test_each_route_has_a_row(callers: Callers) -> None:
    found = set(walk(callers.app.routes))
    assert len(found) > 5
    assert not found - TABLE.keys(), "add rows to TABLE"


@pytest.fixture(autouse=True)
def _no_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("symposia.workers.callbacks.FAILED_AUTH_PER_S", 1e9)


def test_without_a_token_each_route_answers_401(callers: Callers) -> None:
    for key, row in rows(callers).items():
        for token in (None, "sym_0000000000000000_" + "A" * 43, "a.b.c"):
            answer = callers.call(key, row, token, callers.job.id)
            if row.scope is None:
                assert answer.status_code in (200, 404), key
                continue
            assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer"), key
            assert answer.headers["content-type"] == "application/problem+json"
            assert callers.job.id not in answer.text


def test_body_of_an_unknown_caller_is_not_read(callers: Callers) -> None:
    for body in (b"{", b"[" * 100_000):
        answer = callers.http.post("/v1/sessions", content=body, headers={"Content-Type": "application/json"})
        assert answer.status_code == 401
    assert callers.http.get("/v1/files?unknown=1").status_code == 401


@pytest.mark.parametrize("scope", Scope)
def test_scope_allows_only_its_rows(callers: Callers, scope: Scope) -> None:
    for key, row in rows(callers).items():
        for tenant in ("shop", None):
            status = callers.call(key, row, callers.tokens[tenant, scope]).status_code
            assert status not in (401, 500), key
            if row.scope is not None:
                allowed = (row.any_scope or scope in (row.scope, Scope.ADMIN)) and not (
                    tenant and row.all_tenants
                )
                assert (status != 403) == allowed, (key, tenant, status)


def test_session_of_another_tenant_is_not_found(callers: Callers) -> None:
    before = callers.job.state()
    for key, row in rows(callers).items():
        if "{session_id}" not in key[1]:
            continue
        theirs = callers.call(key, row, callers.tokens["acme", Scope.ADMIN], callers.job.id)
        unknown = str(uuid4())
        none = callers.call(key, row, callers.tokens["acme", Scope.ADMIN], unknown)
        assert theirs.status_code == none.status_code == 404, (key, theirs.text)
        assert theirs.text.replace(callers.job.id, unknown) == none.text, key
        assert callers.job.state().version == before.version, key


def test_lists_are_those_of_the_tenant(callers: Callers) -> None:
    paths = {path for _, path in rows(callers)}
    for path in LISTS:
        if path.partition("?")[0] not in paths:
            continue
        answers = {
            tenant: callers.http.get(
                path, headers={"Authorization": f"Bearer {callers.tokens[tenant, Scope.ADMIN]}"}
            )
            for tenant in ("shop", "acme")
        }
        assert callers.job.id not in answers["acme"].text, path
        if answers["acme"].status_code == 200 and path in ("/v1/sessions", "/v1/questions"):
            assert callers.job.id in answers["shop"].text, path


def test_session_has_the_owner_and_tenant_of_its_caller(callers: Callers, web: Any) -> None:
    headers = {"Authorization": f"Bearer {callers.tokens['shop', Scope.SUBMIT]}"}
    body = {"session": {**COLLAB, "owner": "root"}, "draft": True}
    session = callers.http.post("/v1/sessions", json=body, headers=headers)
    assert session.status_code == 201, session.text
    job = web.client.get_job(session.json()["id"])
    assert (job.spec.owner, job.spec.tenant) == ("submit", "shop")
    job.cancel()
    foreign = {"session": COLLAB, "tenant": "acme"}
    assert callers.http.post("/v1/sessions", json=foreign, headers=headers).status_code == 422


def test_revoked_token_is_refused_at_once(callers: Callers, web: Any) -> None:
    token = web.client.tokens.create("eve", tenant="shop", scopes=["read"], expires="1h")
    headers = {"Authorization": f"bearer {token.text}"}
    assert callers.http.get("/v1/files", headers=headers).status_code == 200
    web.client.tokens.revoke(token.id)
    assert callers.http.get("/v1/files", headers=headers).status_code == 401
