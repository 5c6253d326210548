"""Error trackers in a worker: what Celery's signal `task_failure` and Sentry get of failed turns, one line each."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from celery.signals import task_failure

from symposia.models.turns.turn import TurnContext

#: File of the lines.
REPORTS = "REPORTS_FILE"
SECRET = "sk-abcdefgh12345678"


class NoStock(Exception):
    """An error of the application."""


def sell(turn: TurnContext) -> str:
    """Fail in a function of the application; with a secret in the text of the cause if the parameters say so."""
    try:
        raise KeyError(f"key {SECRET}" if turn.parameters.get("leaks") else "shelf 7")
    except KeyError as error:
        raise NoStock("no doors left") from error


def write(source: str, **fields: Any) -> None:
    with Path(os.environ[REPORTS]).open("a") as file:
        file.write(json.dumps({"source": source, **fields}) + "\n")


@task_failure.connect
def record_failure(exception: BaseException, traceback: Any, einfo: Any, **_: Any) -> None:
    cause = exception.__cause__
    frame = cause and cause.__traceback__
    write(
        "signal",
        error=type(exception).__name__,
        cause=type(cause).__name__,
        is_original=isinstance(cause, NoStock),
        texts=[str(exception), repr(cause), repr(cause and cause.__cause__), einfo.traceback],
        function=frame.tb_frame.f_code.co_name if frame else "",
    )


def start_sentry() -> None:
    """Record the events of Sentry, if it is installed."""
    try:
        import sentry_sdk
        from sentry_sdk.integrations.celery import CeleryIntegration
        from sentry_sdk.transport import Transport
    except ImportError:
        return

    class RecordingTransport(Transport):
        def capture_envelope(self, envelope: Any) -> None:
            if (event := envelope.get_event()) is not None:
                write("sentry", event=event)

    sentry_sdk.init(
        dsn="http://key@127.0.0.1:9/1", transport=RecordingTransport, integrations=[CeleryIntegration()]
    )


start_sentry()
