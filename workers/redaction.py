"""Log records without secrets: what a library says of a URL, or an agent of its key, stays inside."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Any

from celery.signals import after_setup_logger, after_setup_task_logger

from ..models.shown import HIDDEN, without_password

_FORMATTER = logging.Formatter()


class Redaction(logging.Filter):
    """Hides the given secrets, and passwords in URLs, in messages and tracebacks. Added to a handler.

    Args:
        secrets: values that are never written.
    """

    def __init__(self, secrets: Iterable[str]) -> None:
        super().__init__()
        self._secrets = tuple(secrets)

    def filter(self, record: logging.LogRecord) -> bool:
        """Lets every record through, with its text as it may be shown."""
        record.msg, record.args = self.hidden(record.getMessage()), None
        if record.exc_info and not record.exc_text:
            record.exc_text = _FORMATTER.formatException(record.exc_info)
        if record.exc_text:
            record.exc_text = self.hidden(record.exc_text)
        return True

    def hidden(self, text: str) -> str:
        """`text` without secrets."""
        for secret in self._secrets:
            text = text.replace(secret, HIDDEN)
        return without_password(text)


def redact_logs(secrets: Iterable[str]) -> None:
    """Has whatever this process logs once Celery has set up its logging go through a `Redaction`."""
    redaction = Redaction(secrets)

    def redact(*, logger: logging.Logger, **_: Any) -> None:
        for handler in logger.handlers:
            handler.addFilter(redaction)

    after_setup_logger.connect(redact, weak=False)
    after_setup_task_logger.connect(redact, weak=False)
