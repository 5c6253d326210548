"""Base handlers of the dashboard, with its security: a page, its JSON, and an action.

    class InboxPage(PageHandler):
        async def get(self) -> None:
            self.render_page("inbox.html", title="Inbox", tab="inbox", script="forms.js")

    class InboxData(DataHandler):
        async def data(self) -> JsonValue:
            return inbox_view(await self.services.client.inbox())

    class Suspend(ActionHandler):
        async def act(self, body: dict[str, JsonValue], session_id: str) -> JsonValue:
            ...

Every request needs an allowed host and, if Flower has authentication, a user. An action needs more: see
`ActionHandler`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from secrets import token_urlsafe
from typing import ClassVar, TypeVar, cast

from pydantic import JsonValue, TypeAdapter, ValidationError
from tornado.escape import url_escape
from tornado.web import Application, HTTPError, RequestHandler

from ...models.errors import InvalidInput, SessionNotFound
from ...models.identity import LOCAL, Caller, Scope
from ...models.text.ids import is_uuid4
from ...models.text.redact import json_text
from ...web.hosts import allowed_hosts, is_allowed_host, refusal_of_action
from ..access import check_user, name_of
from ..security import HEADERS
from ..services import Services, open_services
from ..views.visible import INVISIBLE_IN_PAGES
from .errors import AnswerHandler

#: Cookie that identifies a browser, to count its streams; it gives no right.
BROWSER_COOKIE = "symposia_browser"
#: Address with an id of a session or a review.
_UPPER_ID = re.compile(
    r"(?P<start>(?:/api)?/(?:collabs|reviews)/)(?P<id>[0-9A-Fa-f][0-9A-Fa-f-]{7,35})(?P<rest>(?:/.*)?)"
)
#: Maximum bytes of the body of an action.
MAX_BODY_BYTES = 2_097_152
#: Maximum digits of a number in a URL.
_MAX_DIGITS = 15
#: Setting of the Tornado application with the allowed hosts.
_HOSTS = "symposia_hosts"
_OBJECT: TypeAdapter[dict[str, JsonValue]] = TypeAdapter(dict[str, JsonValue])

T = TypeVar("T")


def one_of_process(application: Application, kind: type[T], make: Callable[[], T]) -> T:
    """Return the one object of a class in this process, which is made when it is first needed."""
    name = f"symposia_{kind.__name__}"
    if name not in application.settings:
        application.settings[name] = make()
    return cast("T", application.settings[name])


class DashboardHandler(AnswerHandler):
    """Handler whose requests need an allowed host and, if Flower has authentication, a user."""

    #: Scope of users to whom the page shows its actions.
    shown_scope: ClassVar[Scope] = Scope.CONTROL
    services: Services
    #: Rights of the user.
    caller: Caller = LOCAL

    async def prepare(self) -> None:
        """Check the host and the user, then open the connections."""
        self.check_host()
        if not self.current_user:
            self.refuse_anonymous()
            return
        self.caller = check_user(self)
        self.services = await open_services(self.application)
        if self.caller.tenant is not None:
            # Each list filters by it, whatever the address says.
            self.request.query_arguments["tenant"] = [self.caller.tenant.encode()]
            if self.path_args:
                await self.check_session(self.path_args[0])

    async def check_session(self, session_id: str) -> None:
        """Check that the user sees a session.

        Raises:
            SessionNotFound: It belongs to another tenant, or does not exist.
        """
        if self.caller.tenant is None:
            return
        if not is_uuid4(session_id):  # a shortened id could be completed to one of another tenant
            raise SessionNotFound(session_id)
        row = self.services.sessions.get(session_id)
        if row is None:
            tenant = (await (await self.services.client.get_job(session_id)).spec()).tenant
        else:
            tenant = row["tenant"]
        if not self.caller.sees(tenant):
            raise SessionNotFound(session_id)

    def set_default_headers(self) -> None:
        """Set the headers of every answer. Flower's own method would allow requests from other sites."""
        for name, value in HEADERS.items():
            self.set_header(name, value)

    def options(self, *_: str, **__: str) -> None:
        """Refuse a CORS preflight request."""
        raise HTTPError(405)

    def check_host(self) -> None:
        """Refuse a request whose host is not allowed."""
        if not is_allowed_host(self.request.host_name, self._allowed_hosts()):
            raise HTTPError(403, reason="host not allowed (see SYMPOSIA_FLOWER_HOSTS)")

    def _allowed_hosts(self) -> frozenset[str]:
        """Return the allowed hosts. The settings are read once, because that takes milliseconds."""
        settings: dict[str, frozenset[str]] = self.application.settings
        if _HOSTS not in settings:
            from ...config.settings import load_settings

            settings[_HOSTS] = allowed_hosts(self.flower_options.address, load_settings().flower_hosts)
        return settings[_HOSTS]

    def refuse_anonymous(self) -> None:
        """Answer a request without a user."""
        raise HTTPError(401)

    @property
    def has_actions(self) -> bool:
        """Return whether actions are possible: Flower has authentication and is not read-only."""
        options = self.flower_options
        return bool(options.basic_auth or options.auth) and not options.read_only

    @property
    def allows_actions(self) -> bool:
        """Return whether the page shows actions to the user."""
        return self.has_actions and self.caller.may(self.shown_scope)

    @property
    def user_name(self) -> str:
        """Return the name of the user; empty: none has logged in, or it has no name."""
        return name_of(self)

    def query_text(self, name: str, default: str = "") -> str:
        """Return an argument of the URL as it was sent. Flower's `get_argument` escapes it for HTML."""
        return RequestHandler.get_query_argument(self, name, default) or default

    def query_number(self, name: str, default: int, *, most: int) -> int:
        """Return an argument of the URL as a whole number from 1 to `most`.

        Raises:
            InvalidInput: A value breaks a rule.
        """
        text = self.query_text(name, str(default))
        is_number = text.isascii() and text.isdigit() and len(text) <= _MAX_DIGITS
        if not is_number or not 1 <= int(text) <= most:
            raise InvalidInput(name, text, f"must be a whole number from 1 to {most}")
        return int(text)


class PageHandler(DashboardHandler):
    """Handler of a page."""

    def refuse_anonymous(self) -> None:
        """Redirect to the login page."""
        login = self.get_login_url()
        self.redirect(f"{login}?next={url_escape(self.request.uri or '/')}")

    def render_page(self, template: str, *, title: str, tab: str, script: str, **values: object) -> None:
        """Render a template that extends `dashboard.html`.

        Args:
            template: File in `templates/`.
            title: Title of the page.
            tab: Entry of the navigation bar that is marked as current.
            script: ES module in `static/` that the page starts with.
            values: Further names in the template.
        """
        if not self.get_cookie(BROWSER_COOKIE):
            self.set_cookie(
                BROWSER_COOKIE, token_urlsafe(12), path=self.base_url or "/", httponly=True, samesite="Strict"
            )
        _ = self.render(
            template,
            page_title=title,
            active_tab=tab,
            script=script,
            base_url=self.base_url,
            asset_url=self.asset_url,
            allows_actions=self.allows_actions,
            invisible=INVISIBLE_IN_PAGES,
            # The token is in the page, so that the cookie is not needed in scripts.
            action_token=self.xsrf_token.decode() if self.allows_actions else "",
            **{**self.health_values(), **values},
        )


class DataHandler(DashboardHandler):
    """Handler of JSON that a page shows."""

    async def get(self, *parts: str) -> None:
        """Send the data."""
        self.send_json(await self.data(*parts))

    async def data(self, *parts: str) -> object:
        """Return the data; `parts` are the groups of the URL."""
        raise NotImplementedError


class UnknownAddress(DashboardHandler):
    """Handler of addresses below the pages that no route fits, such as an id that is not valid."""

    def get(self) -> None:
        """Redirect from an id in upper case; else answer with status 404."""
        match = _UPPER_ID.fullmatch(self.request.path.removeprefix(self.base_url))
        if match is not None and (lower := match["id"].lower()) != match["id"]:
            query = f"?{self.request.query}" if self.request.query else ""
            self.redirect(f"{self.base_url}{match['start']}{lower}{match['rest']}{query}")
            return
        raise HTTPError(404, reason="no such address: an id or a name in it is not valid")


class ActionHandler(DashboardHandler):
    """Handler of an action: POST with a JSON object, answered with a JSON object.

    An action is refused with status 403 unless Flower has authentication, is not read-only, and the request
    comes from a page of this server with the token of its user. Flower skips the last checks for some requests;
    here they apply always.
    """

    def check_xsrf_cookie(self) -> None:
        """Do nothing: `prepare` checks the token, after the host and the user."""

    async def prepare(self) -> None:
        """Check that the action is permitted."""
        self.check_host()
        if not self.has_actions:
            raise HTTPError(403, reason="actions need authentication in Flower, and no read-only mode")
        if not self.current_user:
            raise HTTPError(401)
        refusal = refusal_of_action(self.request.headers, self.request.host, self.request.protocol)
        if refusal is not None:
            raise HTTPError(403, reason=refusal)
        RequestHandler.check_xsrf_cookie(self)
        await super().prepare()

    async def post(self, *parts: str) -> None:
        """Perform the action, and send its result."""
        result = json_text(await self.act(self._body(), *parts))
        self.send_json_text(result, with_health=False)

    async def act(self, body: dict[str, JsonValue], *parts: str) -> object:
        """Perform the action; return data for the page. `parts` are the groups of the URL."""
        raise NotImplementedError

    @property
    def actor(self) -> str:
        """Return who acts, for events: the user who has logged in; `flower`: a user without a name."""
        return self.user_name or "flower"

    def _body(self) -> dict[str, JsonValue]:
        kind = self.request.headers.get("Content-Type", "").partition(";")[0].strip().lower()
        if kind != "application/json":
            raise HTTPError(415, reason="the body must be application/json")
        if len(self.request.body) > MAX_BODY_BYTES:
            raise HTTPError(413)
        try:
            return _OBJECT.validate_json(self.request.body or b"{}")
        except ValidationError:
            raise HTTPError(400, reason="the body must be a JSON object") from None
