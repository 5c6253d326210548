"""Setup of the log of a process: format, redaction, quiet libraries.

Celery sets up the log of workers and beats, and announces it by signals. Other processes call
`configure_logging`.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterable
from typing import Any

from celery.signals import after_setup_logger, after_setup_task_logger
from celery.utils.log import ColorFormatter

from ...config.settings import Settings, known_secrets
from ...config.telemetry import load_telemetry_settings
from ...factories.connection import urls_in_use
from .json_lines import JsonFormatter
from .redaction import Redaction

#: Loggers of libraries that report routine work at INFO, such as every HTTP request or database migration.
CHATTY = (
    *("alembic", "anthropic", "asyncio", "fastmcp", "httpcore", "httpcore2", "httpx", "httpx2", "mcp"),
    *("openai", "opentelemetry", "sqlalchemy", "tornado.access", "urllib3"),
)

_TEXT = "[%(asctime)s: %(levelname)s/%(name)s] %(message)s"


def install_log_setup(settings: Settings) -> None:
    """Apply the settings to the log that Celery sets up in this process."""
    redaction = Redaction(known_secrets(urls_in_use(settings)))
    formatter = _json_formatter(redaction) if settings.log_format == "json" else None

    def apply(*, logger: logging.Logger, loglevel: int | None = None, **_: Any) -> None:
        for handler in logger.handlers:
            handler.addFilter(redaction)
            # A handler of an embedding program keeps its own format.
            if formatter is not None and isinstance(handler.formatter, ColorFormatter):
                handler.setFormatter(formatter)
        quiet_libraries(loglevel or logger.level)

    after_setup_logger.connect(apply, weak=False)
    after_setup_task_logger.connect(apply, weak=False)


def configure_logging(settings: Settings) -> None:
    """Write the log of this process to standard error, with level, format and redaction of the settings."""
    redaction = Redaction(known_secrets(urls_in_use(settings)))
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        _json_formatter(redaction) if settings.log_format == "json" else logging.Formatter(_TEXT)
    )
    handler.addFilter(redaction)
    root = logging.getLogger()
    root.addHandler(handler)
    root.setLevel(settings.log_level)
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
