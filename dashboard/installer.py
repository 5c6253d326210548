"""Installation of the dashboard in Flower: handlers, templates, static files and navigation.

Flower builds its application from module-level values, which are changed here before that. No file of Flower
is copied.
"""

from __future__ import annotations

from typing import Any

from flower import events as flower_events
from flower.urls import handlers as flower_handlers
from flower.urls import settings as flower_settings
from tornado.options import options
from tornado.web import url

from ..patches.control_messages import CheckedReceiver
from ..workers.metrics import export_to_flower
from .flower_pages.queues import QueuesData, QueuesPage
from .flower_pages.task_list import TaskRows, add_columns
from .flower_pages.task_page import TaskPage
from .handlers.base import UnknownAddress
from .handlers.collabs import ArchivedCollabsData, CollabsData, CollabsPage
from .handlers.inbox import inbox_routes
from .handlers.live import CollabsChanges, CollabsStream
from .handlers.reviews import review_routes
from .handlers.schedules import schedule_routes
from .handlers.session import session_routes
from .page_files import STATIC_PATH, AssetHandler, DashboardLoader, NavbarTemplate
from .stopping import stop_at_sigterm

#: Address that Flower listens on, unless its own options name another; its own default is all addresses.
LOOPBACK = "127.0.0.1"
#: Setting of the Tornado application that marks an installed dashboard.
_MARK = "symposia_dashboard"


def dashboard_handlers() -> list[Any]:
    """Return the routes of the dashboard."""
    # `url` objects only: with a URL prefix, Flower drops the arguments of tuples.
    return [
        url(r"/collabs", CollabsPage, name="collabs"),
        url(r"/api/collabs", CollabsData, name="api_collabs"),
        url(r"/api/collabs/archived", ArchivedCollabsData, name="api_collabs_archived"),
        url(r"/api/collabs/stream", CollabsStream, name="api_collabs_stream"),
        url(r"/api/collabs/changes", CollabsChanges, name="api_collabs_changes"),
        *session_routes(),
        *inbox_routes(),
        *schedule_routes(),
        *review_routes(),
        url(r"/collabs/static/(.*)", AssetHandler, {"path": str(STATIC_PATH)}, name="collabs_static"),
        # Without it, addresses that no route fits would get Flower's page, also those of the JSON.
        url(r"(?:/api)?/(?:collabs|inbox|schedules|reviews)/.*", UnknownAddress),
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
    # First what may fail: a failed installation has changed nothing and can be repeated.
    added, replacing = dashboard_handlers(), replaced_handlers()
    loader = DashboardLoader(flower_settings["template_path"])
    flower_events.EventReceiver = CheckedReceiver
    export_to_flower()
    add_columns()
    stop_at_sigterm()
    flower_handlers[-1:-1] = added  # before the catch-all
    flower_handlers[:0] = replacing  # the first route that fits is used
    flower_settings["template_loader"] = loader
    flower_settings["ui_modules"] = {**flower_settings.get("ui_modules", {}), "Template": NavbarTemplate}
    flower_settings.setdefault("xsrf_cookie_kwargs", {"samesite": "Strict"})
    if not options.address and not options.unix_socket:
        options.address = LOOPBACK
    flower_settings[_MARK] = True
