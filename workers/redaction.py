"""Redaction of secrets in log records, such as URLs with passwords and keys of agents."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Any

from celery.signals import after_setup_logger, after_setup_task_logger

from ..models.text.redact import HIDDEN, without_password

_FORMATTER = logging.Formatter()


class Redaction(logging.Filter):
    """Logging filter that hides secrets, and passwords in URLs, in messages and tracebacks.

    Args:
        secrets: Values that must not appear in logs.
    """

    def __init__(self, secrets: Iterable[str]) -> None:
        super().__init__()
        self._secrets = tuple(secrets)

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


def redact_logs(secrets: Iterable[str]) -> None:
    """Add a `Redaction` to the handlers that Celery sets up in this process."""
    redaction = Redaction(secrets)

    def redact(*, logger: logging.Logger, **_: Any) -> None:
        for handler in logger.handlers:
            handler.addFilter(redaction)

    after_setup_logger.connect(redact, weak=False)
    after_setup_task_logger.connect(redact, weak=False)
