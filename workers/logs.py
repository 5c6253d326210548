"""Log of a process: format, redaction of secrets, quiet libraries.

Celery sets up the log of workers and beats, and announces it by signals. Other processes call
`configure_logging`.

With `SYMPOSIA_LOG_FORMAT=json`, every line is an object with `time`, `level`, `logger` and `message`. Further
fields appear only where they apply: those of the log context, the Celery task, an exception.
"""

from __future__ import annotations

import json
import logging
import re
import sys
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

from celery.signals import after_setup_logger, after_setup_task_logger
from celery.utils.log import ColorFormatter

from ..client.building.broker import secrets_in_use
from ..config.settings import Settings
from ..config.standard_variables import load_telemetry_settings
from ..models.text.ids import attempt_span_id, format_timestamp, moment_from_ms, trace_id, utcnow
from ..models.text.redact import HIDDEN, json_text, without_password
from ..state.log_context import current_log_context
from .outages import OutageFilter

_FORMATTER = logging.Formatter()


class Redaction(logging.Filter):
    """Logging filter that hides secrets, and passwords in URLs, in messages and tracebacks.

    Args:
        secrets: Values that must not appear in logs.
    """

    def __init__(self, secrets: Iterable[str]) -> None:
        super().__init__()
        self._secrets = secrets

    def filter(self, record: logging.LogRecord) -> bool:
        """Redact the record, and accept it."""
        record.msg, record.args = self.redact_text(record.getMessage()), None
        if record.exc_info and not record.exc_text:
            record.exc_text = _FORMATTER.formatException(record.exc_info)
        if record.exc_text:
            record.exc_text = self.redact_text(record.exc_text)
        return True

    def redact_text(self, text: str) -> str:
        """Return `text` without secrets."""
        for secret in self._secrets:
            text = text.replace(secret, HIDDEN)
        return without_password(text)


# The arguments of a turn as its Celery task describes them, see `TurnCall`.
_ARGUMENTS = re.compile(
    r"session=(?P<session>\S+)(?: mode=\S+ turn=(?P<turn>\d+) participant=(?P<participant>.*))?"
)


class JsonFormatter(logging.Formatter):
    """Formatter of log records as JSON; control characters are escaped.

    Args:
        redaction: Redaction of secrets, applied to every text.
        traced: Whether the process exports traces; then lines name the trace and the span.
    """

    def __init__(self, redaction: Redaction, *, traced: bool = False) -> None:
        super().__init__()
        self._redact = redaction.redact_text
        self._traced = traced

    def format(self, record: logging.LogRecord) -> str:
        """Return the record as one line of JSON."""
        message, exception = self._redact(record.getMessage()), self._redact(self._exception(record))
        if exception:  # the text of a failed turn ends with its traceback
            message = message.removesuffix(exception).rstrip("\n")
        fields: dict[str, object] = {
            "time": format_timestamp(moment_from_ms(int(record.created * 1000))),
            "level": record.levelname,
            "logger": record.name,
            "message": message,
            **dict(_context_fields(traced=self._traced)),
            **dict(_task_fields(record)),
        }
        if exception:
            fields["exception"] = exception
        if record.stack_info:
            fields["stack"] = record.stack_info
        return json_text({name: self._redacted(value) for name, value in fields.items()})

    def _exception(self, record: logging.LogRecord) -> str:
        if record.exc_info and not record.exc_text:
            record.exc_text = self.formatException(record.exc_info)
        return record.exc_text or str(getattr(record, "agent_traceback", ""))

    def _redacted(self, value: object) -> object:
        return self._redact(value) if isinstance(value, str) else value


def _context_fields(*, traced: bool) -> Iterator[tuple[str, object]]:
    context = current_log_context()
    if context is None:
        return
    yield from ((name, value) for name, value in context._asdict().items() if value is not None)
    if traced:
        yield "trace_id", trace_id(context.session)
        if context.turn is not None and context.attempt is not None:
            yield "span_id", attempt_span_id(context.session, context.turn, context.attempt)


def _task_fields(record: logging.LogRecord) -> Iterator[tuple[str, object]]:
    """Yield the Celery task of a record that Celery writes about it, such as `Task ... succeeded`."""
    data = getattr(record, "data", None)
    if not isinstance(data, dict) or not isinstance(data.get("id"), str):
        return
    yield "task", str(data.get("name"))
    yield "task_id", data["id"]
    arguments = _ARGUMENTS.match(str(data.get("kwargs", "")))
    if arguments is not None and current_log_context() is None:
        yield "session", arguments["session"]
        if arguments["turn"] is not None:
            yield from (("turn", int(arguments["turn"])), ("participant", arguments["participant"]))


def parse_line(line: str) -> dict[str, object] | None:
    """Return the fields of a JSON log line; None if the line is something else."""
    if not line.startswith("{"):
        return None
    try:
        fields = json.loads(line)
    except ValueError:
        return None
    return fields if isinstance(fields, dict) else None


def redact_line(line: str) -> str:
    """Return a line of output without passwords in URLs; a JSON log line stays valid JSON."""
    fields = parse_line(line)
    if fields is None:
        return without_password(line)
    return json_text(
        {name: without_password(value) if isinstance(value, str) else value for name, value in fields.items()}
    )


def service_line(service: str, line: str, *, now: datetime | None = None) -> dict[str, object]:
    """Return the fields of a line that a service has printed, with the name of the service.

    A line that is not JSON becomes the message of a record of level INFO.
    """
    fields = parse_line(line)
    if fields is None:
        time = format_timestamp(now or utcnow())
        fields = {"time": time, "level": "INFO", "logger": "symposia.output", "message": line}
    return {**fields, "service": service}


#: Loggers of libraries that report routine work at INFO, such as every HTTP request or database migration.
CHATTY = (
    *("alembic", "anthropic", "asyncio", "fastmcp", "httpcore", "httpcore2", "httpx", "httpx2", "mcp"),
    *("openai", "opentelemetry", "sqlalchemy", "tornado.access", "urllib3"),
)

_TEXT = "[%(asctime)s: %(levelname)s/%(name)s] %(message)s"


def install_log_setup(settings: Settings) -> None:
    """Apply the settings to the log that Celery sets up in this process."""
    redaction, outages = Redaction(secrets_in_use(settings)), OutageFilter(settings)
    formatter = _json_formatter(redaction) if settings.log_format == "json" else None

    def apply(*, logger: logging.Logger, loglevel: int | None = None, **_: Any) -> None:
        for handler in logger.handlers:
            if (loglevel or logger.level) > logging.DEBUG:
                handler.addFilter(outages)
            handler.addFilter(redaction)
            # A handler of an embedding program keeps its own format.
            if formatter is not None and isinstance(handler.formatter, ColorFormatter):
                handler.setFormatter(formatter)
        quiet_libraries(loglevel or logger.level)

    after_setup_logger.connect(apply, weak=False)
    after_setup_task_logger.connect(apply, weak=False)


def configure_logging(settings: Settings) -> None:
    """Write the log of this process to standard error, with level, format and redaction of the settings."""
    redaction = Redaction(secrets_in_use(settings))
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        _json_formatter(redaction) if settings.log_format == "json" else logging.Formatter(_TEXT)
    )
    root = logging.getLogger()
    root.addHandler(handler)
    root.setLevel(settings.log_level)
    if root.level > logging.DEBUG:
        handler.addFilter(OutageFilter(settings))
    handler.addFilter(redaction)
    quiet_libraries(root.level)


def _json_formatter(redaction: Redaction) -> JsonFormatter:
    return JsonFormatter(redaction, traced=load_telemetry_settings() is not None)


def quiet_libraries(level: int, names: Iterable[str] = CHATTY) -> None:
    """Hide the routine messages of libraries, unless the level of the process is DEBUG.

    A logger whose level was set explicitly keeps it.
    """
    if level <= logging.DEBUG:
        return
    for name in names:
        logger = logging.getLogger(name)
        if logger.level == logging.NOTSET:
            logger.setLevel(max(level, logging.WARNING))
