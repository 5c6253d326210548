"""Installation of the dashboard in Flower: handlers, templates, static files and navigation.

Flower builds its application from module-level values, which are changed here before that. No file of Flower
is copied.
"""

from __future__ import annotations

from typing import Any

from flower.urls import handlers as flower_handlers
from flower.urls import settings as flower_settings
from tornado.options import options
from tornado.web import url

from ..metrics.serving import export_to_flower
from .flower_pages.queues import QueuesData, QueuesPage
from .flower_pages.task_list import TaskRows, add_columns
from .flower_pages.task_page import TaskPage
from .handlers.assets import STATIC_PATH, AssetHandler
from .handlers.collabs import ArchivedCollabsData, CollabsData, CollabsPage
from .handlers.inbox import inbox_routes
from .handlers.live import CollabsChanges, CollabsStream
from .handlers.reviews import review_routes
from .handlers.schedules import schedule_routes
from .handlers.session_routes import session_handlers
from .page_templates import DashboardLoader, NavbarTemplate

#: Address that Flower listens on, unless its own options name another; its own default is all addresses.
LOOPBACK = "127.0.0.1"
#: Setting of the Tornado application that marks an installed dashboard.
_MARK = "symposia_dashboard"
#: Session ids in URLs, also shortened.
SESSION_ID = r"([0-9a-f][0-9a-f-]{7,35})"


def dashboard_handlers() -> list[Any]:
    """Return the routes of the dashboard."""
    # `url` objects only: with a URL prefix, Flower drops the arguments of tuples.
    return [
        url(r"/collabs", CollabsPage, name="collabs"),
        url(r"/api/collabs", CollabsData, name="api_collabs"),
        url(r"/api/collabs/archived", ArchivedCollabsData, name="api_collabs_archived"),
        url(r"/api/collabs/stream", CollabsStream, name="api_collabs_stream"),
        url(r"/api/collabs/changes", CollabsChanges, name="api_collabs_changes"),
        *session_handlers(SESSION_ID),
        *inbox_routes(),
        *schedule_routes(),
        *review_routes(),
        url(r"/collabs/static/(.*)", AssetHandler, {"path": str(STATIC_PATH)}, name="collabs_static"),
    ]


def replaced_handlers() -> list[Any]:
    """Return the routes that replace those of Flower."""
    return [
        url(r"/tasks/datatable", TaskRows),
        url(r"/task/(.+)", TaskPage),
        url(r"/broker", QueuesPage),
        url(r"/api/queues/length", QueuesData),
    ]


def install_dashboard() -> None:
    """Add the dashboard to Flower. Call it before Flower is built; a second call does nothing."""
    if flower_settings.get(_MARK):
        return
    flower_settings[_MARK] = True
    flower_handlers[-1:-1] = dashboard_handlers()  # before the catch-all
    flower_handlers[:0] = replaced_handlers()  # the first route that fits is used
    add_columns()
    flower_settings["template_loader"] = DashboardLoader(flower_settings["template_path"])
    flower_settings["ui_modules"] = {**flower_settings.get("ui_modules", {}), "Template": NavbarTemplate}
    flower_settings.setdefault("xsrf_cookie_kwargs", {"samesite": "Strict"})
    export_to_flower()
    if not options.address and not options.unix_socket:
        options.address = LOOPBACK
