"""Log records as JSON, one object per line (`SYMPOSIA_LOG_FORMAT=json`).

Every line has `time`, `level`, `logger` and `message`. Further fields appear only where they apply: those of
the log context, the Celery task, an exception.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterator
from datetime import datetime

from ...models.text.ids import format_timestamp, moment_from_ms, utcnow
from ...models.text.redact import json_text, without_password
from ...models.text.trace_ids import attempt_span_id, trace_id
from ...tasks.runtime.log_context import current_log_context
from .redaction import Redaction

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
