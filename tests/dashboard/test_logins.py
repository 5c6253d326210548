"""Several Flowers on one Redis, and a Flower whose users log in with OAuth."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from http.cookies import SimpleCookie
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, build_opener

import pytest

from live import result_of, until
from scaling import patient
from servers.dashboard import CREDENTIALS
from servers.flower import Answer, FlowerServer, action_headers
from servers.oauth_server import SECRET, OAuthServer
from servers.ports import own_port
from symposia.models.sessions.stop_conditions import MaxRounds

#: They start servers of their own.
pytestmark = [pytest.mark.long, pytest.mark.leaves_keys, pytest.mark.timeout(240)]


def waiting(dashboard):
    """A session that waits for bob."""
    job = dashboard.submit("pair", {"ann": "say", "bob": "human"}, stop=MaxRounds(1))
    until(job.pending, what="bob is asked")
    return job


def actor_of(dashboard, job, kind: str) -> str:
    """Who caused the only event of this kind."""
    (event,) = [it for it in dashboard.get(job, "/events?count=500")["events"] if it["type"] == kind]
    return str(json.loads(event["data"])["by"])


def test_several_flowers_show_and_act(dashboard):
    job = waiting(dashboard)
    second = FlowerServer(
        dashboard.folder,
        dashboard.settings,
        {"FLOWER_BASIC_AUTH": "eve:another-secret"},
        credentials="eve:another-secret",
    ).start()
    try:
        other = replace(dashboard, flower=second)
        path = f"/api/collabs/{job.id}"
        until(lambda: second.json(path)["questions"], what="the second Flower shows the question")
        assert second.post(f"{path}/suspend", **action_headers(second, second.credentials)).status == 200
        for instance in (dashboard, other):
            until(
                lambda instance=instance: instance.flower.json(path)["status"] == "suspended",
                what="both show the change",
            )
            until(
                lambda instance=instance: (
                    [
                        it["status"]
                        for it in instance.flower.json("/api/collabs?limit=500")["collabs"]
                        if it["id"] == job.id
                    ]
                    == ["suspended"]
                ),
                what="both lists show the change",
            )
        assert dashboard.act(job, "resume").status == 200
        until(lambda: second.json(path)["status"] == "active", what="the second Flower shows the change")
        assert actor_of(dashboard, job, "session.suspended") == "eve"
        # The token of a page is valid at its own Flower only together with the cookie of that page.
        mixed = action_headers(second, second.credentials) | {
            "Cookie": action_headers(dashboard.flower, CREDENTIALS)["Cookie"]
        }
        assert second.post(f"{path}/stop", **mixed).status == 403
        assert dashboard.act(job, "cancel").status == 200
        until(lambda: second.json(path)["is_final"], what="the second Flower shows the end")
    finally:
        second.kill()


class _NoRedirect(HTTPRedirectHandler):
    def redirect_request(self, *_args, **_more):
        return None


@dataclass
class Browser:
    """Follows redirects between Flower and the OAuth server, with the cookies of Flower."""

    flower: FlowerServer
    cookies: dict[str, str] = field(default_factory=dict)

    def open(self, path: str) -> Answer:
        """The answer at the end of all redirects."""
        for _ in range(6):
            with self.flower.opened("GET", path, self.headers()) as response:
                answer = Answer(response.status, dict(response.getheaders()), response.read().decode())
                for line in response.headers.get_all("Set-Cookie", []):
                    self.cookies |= {name: it.value for name, it in SimpleCookie(line).items()}
            if answer.status != 302:
                return answer
            path = self._next(answer.headers["Location"])
        raise AssertionError("too many redirects")

    def _next(self, location: str) -> str:
        if location.startswith("/"):
            return location
        if urlsplit(location).port == self.flower.port:
            return location.removeprefix(self.flower.url)
        try:  # the OAuth server: it redirects back at once
            build_opener(_NoRedirect).open(location, timeout=patient(20))
        except HTTPError as error:
            with error:
                return self._next(error.headers["Location"])
        raise AssertionError("the OAuth server did not redirect")

    def headers(self) -> dict[str, str]:
        return {"Cookie": "; ".join(f"{name}={value}" for name, value in self.cookies.items())}


@pytest.fixture
def guarded_by_oauth(dashboard) -> Iterator[tuple[FlowerServer, OAuthServer]]:
    """A Flower whose users log in at an OAuth server, with the addresses of one domain."""
    with OAuthServer().running() as oauth:
        port = own_port()
        environment = {
            "FLOWER_AUTH": ".*@example.com",
            "FLOWER_AUTH_PROVIDER": "flower.views.auth.OktaLoginHandler",
            "FLOWER_OAUTH2_KEY": "flower",
            "FLOWER_OAUTH2_SECRET": SECRET,
            "FLOWER_OAUTH2_REDIRECT_URI": f"http://127.0.0.1:{port}/login",
            "FLOWER_OAUTH2_OKTA_BASE_URL": oauth.url,
        }
        flower = FlowerServer(dashboard.folder, dashboard.settings, environment, port=port).start()
        yield flower, oauth
        flower.kill()


def test_oauth_login_allows_actions_and_names_the_actor(dashboard, guarded_by_oauth):
    flower, oauth = guarded_by_oauth
    job = waiting(dashboard)
    path = f"/api/collabs/{job.id}"
    anonymous = flower.get("/collabs")
    assert (anonymous.status, urlsplit(anonymous.headers["location"]).path) == (302, "/login")
    assert flower.get("/api/collabs").status == 401
    assert flower.post(f"{path}/suspend").status == 401

    browser = Browser(flower)
    browser.open("/login")
    page = browser.open("/collabs")
    token = re.search(r'data-token="([^"]+)"', page.text)
    assert token, page
    own = {
        **browser.headers(),
        "X_XSRFToken": token[1],
        "Origin": f"http://127.0.0.1:{flower.port}",
        "Sec_Fetch_Site": "same-origin",
    }
    for refused in (
        {"X_XSRFToken": ""},
        {"Origin": f"https://127.0.0.1:{flower.port}"},
        {"Sec_Fetch_Site": "none"},
    ):
        assert flower.post(f"{path}/suspend", **own | refused).status == 403
    forged = re.sub(r"user=[^;]*", "user=ann@example.com", own["Cookie"])
    assert flower.post(f"{path}/suspend", **own | {"Cookie": forged}).status == 401
    assert flower.post(f"{path}/suspend", **own).status == 200
    assert flower.post(f"{path}/resume", **own).status == 200
    assert flower.post(f"{path}/post", {"text": "Hello."}, **own).status == 200
    (question,) = flower.json(path, **browser.headers())["questions"]
    answer = {"question": question["id"], "name": "bob", "text": "Yes."}
    assert flower.post(f"{path}/reply", answer, **own).status == 200
    for kind in ("session.suspended", "message.posted"):
        assert actor_of(dashboard, job, kind) == "ann@example.com"
    result_of(job, timeout_s=60)

    oauth.email = "eve@elsewhere.example"
    stranger = Browser(flower)
    assert stranger.open("/login").status == 403
    assert flower.get("/api/collabs", **stranger.headers()).status == 401
