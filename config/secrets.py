"""Secrets of this process, so that its output can be redacted."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from urllib.parse import parse_qsl, unquote, urlsplit

from ..models.text.redact import names_secret_option
from .telemetry import exporter_secrets

#: Minimum characters of a secret: shorter values are usually words, and would be hidden inside other texts.
MIN_SECRET_CHARS = 6

_NAME = re.compile(r"(?:^|_)(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?)$", re.IGNORECASE)


def known_secrets(urls: Iterable[str]) -> tuple[str, ...]:
    """Return the passwords in the URLs in use, and the values of variables such as `OPENAI_API_KEY`.

    Longest first: one may be part of another.
    """
    passwords = [password for url in urls for password in _passwords(url)]
    variables = [value.strip() for name, value in os.environ.items() if _NAME.search(name)]
    found = {*passwords, *map(unquote, passwords), *variables, *exporter_secrets()}
    return tuple(sorted((it for it in found if len(it) >= MIN_SECRET_CHARS), key=len, reverse=True))


def _passwords(url: str) -> list[str]:
    """Return the password of the user and those in options, such as that of the Sentinels."""
    parts = urlsplit(url)
    options = [value for name, value in parse_qsl(parts.query) if names_secret_option(name)]
    return [it for it in (parts.password, *options) if it]
