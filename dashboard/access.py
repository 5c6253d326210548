"""What users of Flower may see and do, if the setting `flower_users` names them.

Each page and action has its scope here. A user of one tenant gets only the pages of sessions, as the other ones show
all tenants. Pages of Flower itself are checked, too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from flower.api import BaseApiHandler
from flower.views import BaseHandler
from tornado.web import Application, HTTPError

from ..config.field_types import FlowerUser
from ..models.identity import LOCAL, Caller, Scope
from .security import basic_user

#: Modules of Flower whose pages need no user.
_OPEN_MODULES: Final = frozenset({"flower.views.monitor", "flower.views.auth", "flower.views.error"})
_USERS: Final = "symposia_flower_users"
_ID: Final = "[0-9a-f]{8}-[0-9a-f-]{27}"
#: Pages that show the sessions of one tenant, and their actions.
_OF_TENANT: Final = re.compile(
    rf"(?:/api)?/collabs/{_ID}(?:/.*)?|/collabs(?:/export)?|/inbox|/api/inbox/reply"
    r"|/api/collabs/(?:search|archived|bulk)"
)
#: Live parts of pages: those of a page that is not named show all tenants.
_LIVE: Final = re.compile(r"/api/collabs/(?:stream|changes)")
_VIEWS_OF_TENANT: Final = frozenset({"collabs", "inbox"})
#: Scopes of actions; the first pattern that fits counts.
_ACTIONS: Final[tuple[tuple[re.Pattern[str], Scope], ...]] = (
    (re.compile(rf"/api/inbox/reply|/api/collabs/{_ID}/reply"), Scope.REPLY),
    (re.compile(rf"/api/collabs/{_ID}/(?:activate|continue|fork|retry)"), Scope.SUBMIT),
    (re.compile(rf"/api/(?:collabs/(?:bulk|{_ID}/.*)|schedules/.*|reviews/.*)"), Scope.CONTROL),
)
_READS: Final = frozenset({"GET", "HEAD"})


def scope_of(method: str, path: str) -> Scope:
    """Return the scope that a request needs; `admin` for the actions of Flower itself."""
    if method in _READS:
        return Scope.READ
    return next((scope for pattern, scope in _ACTIONS if pattern.fullmatch(path)), Scope.ADMIN)


def refusal(caller: Caller, method: str, path: str, view: str = "") -> str | None:
    """Return why a user must not make a request; None: they may.

    Args:
        caller: The user.
        method: HTTP method.
        path: Path without the prefix of Flower.
        view: Page whose live parts are asked for.
    """
    if not caller.may(scope := scope_of(method, path)):
        return f"the user lacks the scope {scope.value!r} (see SYMPOSIA_FLOWER_USERS)"
    if caller.tenant is None or _OF_TENANT.fullmatch(path):
        return None
    if _LIVE.fullmatch(path) and view in _VIEWS_OF_TENANT:
        return None
    return "this page shows all tenants, and the user sees one"


def find_caller(users: Mapping[str, FlowerUser], name: str) -> Caller | None:
    """Return the rights of a user; all of them if the setting names no users, None if it names others only."""
    if not users:
        return LOCAL
    user = users.get(name)
    return None if user is None else Caller(name, user.tenant, frozenset(user.scopes))


def named_users(application: Application) -> Mapping[str, FlowerUser]:
    """Return the users of the settings, which are read once, because that takes milliseconds."""
    settings: dict[str, Mapping[str, FlowerUser]] = application.settings
    if _USERS not in settings:
        from ..config.settings import load_settings

        settings[_USERS] = load_settings().flower_users
    return settings[_USERS]


def name_of(handler: Any) -> str:
    """Return the name of the user of a request who has logged in; empty: it has no name."""
    if isinstance(handler.current_user, str):
        return handler.current_user
    return basic_user(handler.request.headers.get("Authorization", ""))


def check_user(handler: Any) -> Caller:
    """Return the rights of the user of a request, who has logged in.

    Raises:
        HTTPError: The user must not make the request.
    """
    users, options = named_users(handler.application), handler.application.options
    if users and not (options.basic_auth or options.auth):  # Flower has not checked who it is
        raise HTTPError(403, reason="SYMPOSIA_FLOWER_USERS requires authentication in Flower")
    caller = find_caller(users, name_of(handler))
    if caller is None:
        raise HTTPError(403, reason="SYMPOSIA_FLOWER_USERS does not name this user")
    prefix = (handler.application.options.url_prefix or "").strip("/")
    path = handler.request.path.removeprefix(f"/{prefix}" if prefix else "")
    views = handler.request.query_arguments.get("view", [b""])
    reason = refusal(caller, handler.request.method, path, views[-1].decode(errors="replace"))
    if reason is not None:
        raise HTTPError(403, reason=reason)
    return caller


def guard_flower() -> None:
    """Let the pages of Flower itself check their user, too. Call it once, before Flower is built."""
    BaseHandler.prepare = _guarded(BaseHandler.prepare)
    BaseApiHandler.prepare = _guarded(BaseApiHandler.prepare)


def _guarded(prepare: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return the method `prepare` of a handler, which checks the user first."""

    def check_first(handler: Any) -> Any:
        is_open = type(handler).__module__ in _OPEN_MODULES
        if not is_open and named_users(handler.application) and handler.current_user:
            check_user(handler)
        return prepare(handler)

    return check_first
