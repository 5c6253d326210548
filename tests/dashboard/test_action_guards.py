"""Every action of every page is refused without authentication, in read-only mode and from another site."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from servers.flower import FlowerServer, action_headers
from sessions.submitted import submit_two
from symposia.client import Client
from symposia.dashboard.handlers.base import ActionHandler, DashboardHandler
from symposia.dashboard.installer import AssetHandler, dashboard_handlers

#: They start servers of their own.
pytestmark = pytest.mark.long

ROUTES = dashboard_handlers()
UNKNOWN = "0b7b1f5e-3f0e-4c1b-9d55-0a4d2c4c7d11"


def example(pattern: str) -> str:
    """A path that fits the pattern of a route."""
    path = re.sub(r"\((\w+)(\|\w+)+\)", r"\1", pattern.removesuffix("$"))  # one of several verbs
    path = re.sub(r"\(\[A-Za-z0-9\][^)]*\)", "nightly", path)
    return re.sub(r"\([^)]*\)", UNKNOWN, path)


ACTIONS = [example(it.regex.pattern) for it in ROUTES if issubclass(it.handler_class, ActionHandler)]
#: Headers of a page that make its request one of another site.
FOREIGN = [
    {"Sec_Fetch_Site": "cross-site"},
    {"Sec_Fetch_Site": "same-site"},
    {"Sec_Fetch_Site": "none"},
    {"Origin": "https://evil.example"},
    {"Origin": "null"},
    {"Origin": "https://127.0.0.1"},
    {"X_XSRFToken": "2|00000000|00000000000000000000000000000000|1700000000"},
    {"X_XSRFToken": ""},
    {"Cookie": ""},
    {"Host": "evil.example"},
]


def test_every_route_has_the_base_handler():
    assert len(ACTIONS) >= 4
    for route in ROUTES:
        assert issubclass(route.handler_class, (DashboardHandler, AssetHandler)), route
        fits = re.fullmatch(route.regex.pattern, example(route.regex.pattern))
        assert fits or not issubclass(route.handler_class, ActionHandler), route


def test_cross_site_or_anonymous_action_is_refused(dashboard):
    flower = dashboard.flower
    anonymous, headers = replace(flower, credentials=""), action_headers(flower, flower.credentials)
    without_user = {name: value for name, value in headers.items() if name != "Authorization"}
    for path in ACTIONS:
        assert flower.post(path, **headers).status in (400, 404), path
        assert anonymous.post(path, **without_user).status == 401, path
        assert flower.post(path).status == 403, path
        for changed in FOREIGN:
            assert flower.post(path, **headers | changed).status == 403, (path, changed)
        form = flower.post(path, **headers, Content_Type="application/x-www-form-urlencoded")
        assert form.status == 415, path
        assert flower.get(path).status == 403, path


@pytest.mark.leaves_keys
@pytest.mark.parametrize(
    "environment", [{"FLOWER_UNAUTHENTICATED_API": "true"}, pytest.param({}, marks=pytest.mark.long)]
)
def test_no_authentication_means_no_actions(start_flower, client, environment):
    check_no_actions(start_flower(environment=environment), client)


@pytest.mark.leaves_keys
def test_read_only_mode_has_no_actions(start_flower, client):
    user = "ann:as-long-as-it-is-secret"
    flower = start_flower("--read-only", environment={"FLOWER_BASIC_AUTH": user}, credentials=user)
    check_no_actions(flower, client)


def check_no_actions(flower: FlowerServer, client: Client) -> None:
    job = submit_two(client, "A talk")
    assert 'data-token=""' in flower.get("/collabs").text
    for path in ("/collabs", f"/collabs/{job.id}", "/inbox", "/schedules", "/reviews"):
        page = flower.get(path)
        assert (page.status, "data-actions" in page.text) == (200, False), path
    own = {"Origin": f"http://127.0.0.1:{flower.port}", "Sec_Fetch_Site": "same-origin"}
    for path in ACTIONS:
        for action in (path, path.replace(UNKNOWN, job.id)):
            assert flower.post(action, **own).status == 403, action
    assert job.status() == "active"
