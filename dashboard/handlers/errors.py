"""Errors of the dashboard: their HTTP status, and the answer, a page or JSON.

An error is one line, without a traceback. Addresses below `/api/` answer with JSON, all others with a page that has
the navigation and says what to do.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from ...models import errors
from ...models.text.redact import json_text, without_password
from ..live.health_feed import HealthFeed
from ..live.outage_log import OutageLog
from ..services import HEALTH
from ..views.health import freshness, health_notice
from ..views.visible import INVISIBLE_IN_PAGES, make_visible

if TYPE_CHECKING:
    from tornado.web import RequestHandler as FlowerHandler
else:
    from flower.views import BaseHandler as FlowerHandler

log = logging.getLogger(__name__)

#: Setting of the Tornado application: the log of outages.
_OUTAGES = "symposia_outages"
#: Seconds after which a page that could not be read loads itself again.
_RELOAD_AFTER_S = 5
#: What to do, by status.
_ADVICE = {
    400: "Correct the address, or open the page from the navigation.",
    401: "Log in with a user of Flower.",
    403: "Open the page under an allowed host name, as a user with the right to see it.",
    404: "The address may be incomplete, or the object has expired. Find it in the list.",
    409: "Load the page again: the state has changed in the meantime.",
    503: "Check that Redis and the database of the archive are running. This page is loaded again every 5 seconds.",
}
_OTHER_ADVICE = "Load the page again. If the error repeats, the log of Flower has its details."


def status_of(error: errors.SymposiaError) -> int:
    """Return the HTTP status of an error."""
    match error:
        case (
            errors.SessionNotFound()
            | errors.ReviewNotFound()
            | errors.ScheduleNotFound()
            | errors.AttachmentUnavailable()
            | errors.NotAMember()
        ):
            return 404
        case errors.LifecycleError() | errors.SessionConflict() | errors.ReplyRefused():
            return 409
        case errors.InvalidInput():
            return 400
        case (
            errors.StateError()
            | errors.ArchiveError()
            | errors.BrokerUnavailable()
            | errors.UnsuitableQueue()
            | errors.ClientClosed()
        ):
            return 503
        case _:
            return 422


class AnswerHandler(FlowerHandler):
    """Handler that answers with JSON, and reports errors as JSON or as a page."""

    @property
    def flower_options(self) -> Any:
        """Return the options of Flower."""
        return self.application.options  # type: ignore[attr-defined]

    @property
    def base_url(self) -> str:
        """Return the URL prefix of Flower, such as `/flower`, or an empty text."""
        prefix = (self.flower_options.url_prefix or "").strip("/")
        return f"/{prefix}" if prefix else ""

    def asset_url(self, name: str) -> str:
        """Return the URL of a file in `static/`."""
        return f"{self.base_url}/collabs/static/{name}"

    @property
    def health(self) -> HealthFeed:
        """Return the state of the data. Before Redis has answered, it is one of its own."""
        feed: HealthFeed = self.application.settings.setdefault(HEALTH, HealthFeed())
        return feed

    def health_values(self, *, ended_ms: int | None = None) -> dict[str, object]:
        """Return the values of the template `fragments/health.html`.

        Args:
            ended_ms: When what the page shows has ended for good; None: it has not.
        """
        health, now_ms = self.health.health, self.health.now_ms()
        return {
            "fresh": freshness(health, now_ms, ended_ms=ended_ms),
            "notice": health_notice(health, now_ms),
        }

    def send_json(self, data: object) -> None:
        """Send a JSON object."""
        self.send_json_text(json_text(data))

    def send_json_text(self, text: str, *, with_health: bool = True) -> None:
        """Send a JSON object that was made before, with the state of the data as `health`."""
        self.set_header("Content-Type", "application/json; charset=UTF-8")
        if not with_health:
            self.write(text)
            return
        rest = text[1:]
        self.write(f'{{"health":{self.health.json()}{"" if rest == "}" else ","}{rest}')

    def write_error(self, status_code: int, **kwargs: Any) -> None:
        """Send an error as one line: expected errors with their text, others without details."""
        error = kwargs.get("exc_info", (None, None))[1]
        status, line = status_code, self._reason
        if isinstance(error, errors.SymposiaError):
            status, line = status_of(error), str(error)
        if isinstance(error, errors.RedisUnavailable) and self.health.health.read_ms is None:
            self.health.record_error(error)  # no reader of changes runs yet, which would do so
        if status == 401 and self.flower_options.basic_auth:
            self.set_header("WWW-Authenticate", 'Basic realm="flower"')
        self.set_status(status)
        line = without_password(line)
        if self.request.path.removeprefix(self.base_url).startswith("/api/"):
            self.send_json({"error": line})
            _ = self.finish()
        else:
            self._send_error_page(status, line)

    def _send_error_page(self, status: int, line: str) -> None:
        if not hasattr(self, "_current_user"):
            self.current_user = None  # the navigation must not repeat an authentication that failed
        if status == 503:
            self.set_header("Refresh", str(_RELOAD_AFTER_S))
        _ = self.render(
            "error_page.html",
            page_title=f"Error {status}",
            active_tab="",
            base_url=self.base_url,
            asset_url=self.asset_url,
            allows_actions=False,
            invisible=INVISIBLE_IN_PAGES,
            action_token="",
            reason=make_visible(line),
            advice=_ADVICE.get(status, _OTHER_ADVICE),
            is_outage=status == 503,
            **self.health_values(),
        )

    def log_exception(self, typ: Any, value: Any, tb: Any) -> None:
        """Log a defect with its traceback, and an outage as one line; other expected errors are only sent."""
        if not isinstance(value, errors.SymposiaError):
            super().log_exception(typ, value, tb)
        elif status_of(value) == 503:
            self._log_outage(without_password(str(value)))

    def _log_outage(self, line: str) -> None:
        outages = self.application.settings.setdefault(
            _OUTAGES, OutageLog(log, "pages answer with status 503")
        )
        outages.report(line)
