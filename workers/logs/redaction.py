"""Redaction of secrets in log records."""

from __future__ import annotations

import logging
from collections.abc import Iterable

from ...models.text.redact import HIDDEN, without_password

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
