"""Installation of the dashboard in Flower: handlers, templates, static files and navigation.

Flower builds its application from module-level values, which are changed here before that. No file of Flower
is copied.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from flower import command
from flower import events as flower_events
from flower.options import default_options
from flower.urls import handlers as flower_handlers
from flower.urls import settings as flower_settings
from tornado.options import options
from tornado.template import Loader, Template
from tornado.web import StaticFileHandler, TemplateModule, url

from ..patches.control_messages import CheckedReceiver
from ..workers.metrics import export_to_flower
from .access import guard_flower
from .flower_pages.queues import QueuesData, QueuesPage
from .flower_pages.task_list import TaskListPage, TaskRows, add_columns
from .flower_pages.task_page import TaskPage
from .handlers.base import UnknownAddress
from .handlers.bulk import BulkAction, BulkExport
from .handlers.collab_list import CollabsPage
from .handlers.collabs import ArchivedCollabsData, CollabsData, SearchData
from .handlers.health import HealthData
from .handlers.inbox import inbox_routes
from .handlers.live import CollabsChanges, CollabsStream
from .handlers.past_task import PastTaskPage
from .handlers.reviews import review_routes
from .handlers.schedules import schedule_routes
from .handlers.session import session_routes
from .views.visible import escape_visible

#: Celery tasks that Flower keeps in memory, unless its option `max_tasks` says otherwise: each takes 5 kB. Its own default,
#: 100,000, is half a gigabyte, and a list of tasks that takes seconds.
MAX_TASKS = 10_000
#: Address that Flower listens on, unless its own options name another; its own default is all addresses.
LOOPBACK = "127.0.0.1"
#: Setting of the Tornado application that marks an installed dashboard.
_MARK = "symposia_dashboard"
TEMPLATES_PATH = Path(__file__).parent / "templates"
STATIC_PATH = Path(__file__).parent / "static"
#: End of a list in HTML: the first one in Flower's navigation bar ends the list of pages.
_END_OF_LIST = b"</ul>"


class DashboardLoader(Loader):
    """Loader that searches the templates of the dashboard first, then those of Flower.

    In the templates of the dashboard, every character of a value is visible, and has no meaning in HTML.

    Args:
        flower_path: Folder of Flower's templates.
    """

    def __init__(self, flower_path: str) -> None:
        super().__init__(flower_path, namespace={"escape_visible": escape_visible})

    def _create_template(self, name: str) -> Template:
        own = TEMPLATES_PATH / name
        if TEMPLATES_PATH in own.parents and own.is_file():
            return Template(own.read_bytes(), name=name, loader=self, autoescape="escape_visible")
        return super()._create_template(name)


class NavbarTemplate(TemplateModule):
    """Tornado's `Template` module, which adds the pages of the dashboard to Flower's `navbar.html`."""

    def render(self, path: str, **values: Any) -> bytes:
        """Return the rendered template."""
        page = super().render(path, **values)
        if path != "navbar.html" or _END_OF_LIST not in page:
            return page
        entries = self.render_string("dashboard_navbar.html", active_tab=values.get("active_tab", ""))
        return page.replace(_END_OF_LIST, entries + _END_OF_LIST, 1)


class AssetHandler(StaticFileHandler):
    """Scripts and styles. A browser asks whether they have changed, because modules import each other by name."""

    def set_extra_headers(self, path: str) -> None:  # noqa: ARG002 - the same for all files
        """Set the headers of every file."""
        self.set_header("Cache-Control", "no-cache")
        self.set_header("X-Content-Type-Options", "nosniff")
        self.set_header("Cross-Origin-Resource-Policy", "same-origin")


def stop_at_sigterm() -> None:
    """Replace Flower's handler of SIGTERM: the event loop is stopped from within. Call it before Flower is built.

    Flower's own handler raises `SystemExit` in the code that runs at that moment. If that is the code of Tornado
    that starts a request, Tornado logs the exception and continues, and Flower runs on. Seen in Flower 2.2.0 with
    Tornado 6.6.1, no issue. Remove this when `test_tornado_swallows_the_exit_of_flowers_signal_handler` fails.
    """
    command.sigterm_handler = _stop_loop


def _stop_loop(signum: int, _frame: object) -> None:
    command.logger.info("%s detected, shutting down", signum)
    loop = asyncio.get_event_loop()
    # A loop that has not started yet stops after its first iteration.
    loop.call_soon_threadsafe(loop.stop)


def dashboard_handlers() -> list[Any]:
    """Return the routes of the dashboard."""
    # `url` objects only: with a URL prefix, Flower drops the arguments of tuples.
    return [
        url(r"/collabs", CollabsPage, name="collabs"),
        url(r"/api/collabs", CollabsData, name="api_collabs"),
        url(r"/api/collabs/archived", ArchivedCollabsData, name="api_collabs_archived"),
        url(r"/api/collabs/search", SearchData, name="api_collabs_search"),
        url(r"/api/collabs/stream", CollabsStream, name="api_collabs_stream"),
        url(r"/api/collabs/changes", CollabsChanges, name="api_collabs_changes"),
        url(r"/api/collabs/bulk", BulkAction, name="api_collabs_bulk"),
        url(r"/collabs/export", BulkExport, name="collabs_export"),
        url(r"/api/health", HealthData, name="api_health"),
        *session_routes(),
        *inbox_routes(),
        *schedule_routes(),
        *review_routes(),
        url(r"/collabs/tasks/([0-9a-f-]{36})", PastTaskPage, name="past_task"),
        url(r"/collabs/static/(.*)", AssetHandler, {"path": str(STATIC_PATH)}, name="collabs_static"),
        # Without it, addresses that no route fits would get Flower's page, also those of the JSON.
        url(r"(?:/api)?/(?:collabs|inbox|schedules|reviews)/.*", UnknownAddress),
    ]


def replaced_handlers() -> list[Any]:
    """Return the routes that replace those of Flower."""
    return [
        url(r"/tasks", TaskListPage),
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
    default_options._options["max-tasks"].default = MAX_TASKS  # noqa: SLF001 - as for the columns
    stop_at_sigterm()
    guard_flower()
    flower_handlers[-1:-1] = added  # before the catch-all
    flower_handlers[:0] = replacing  # the first route that fits is used
    flower_settings["template_loader"] = loader
    flower_settings["ui_modules"] = {**flower_settings.get("ui_modules", {}), "Template": NavbarTemplate}
    flower_settings.setdefault("xsrf_cookie_kwargs", {"samesite": "Strict"})
    if not options.address and not options.unix_socket:
        options.address = LOOPBACK
    flower_settings[_MARK] = True
