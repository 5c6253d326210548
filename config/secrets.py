"""Secrets of this process, so that its output can be redacted."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlsplit

from ..models.text.redact import names_secret_option
from .settings import read_variable
from .standard_variables import exporter_secrets

#: Minimum characters of a secret: shorter values are usually words, and would be hidden inside other texts.
MIN_SECRET_CHARS = 6

_NAME = re.compile(r"(?:^|_)(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?)$", re.IGNORECASE)


#: Minimum characters of a secret that a file names.
MIN_NAMED_CHARS = 4
# Such as `api_key_env = "HOUSE"`, also in a file that is not valid as a whole.
_NAMED = re.compile(r"""\b(?:\w*_env|chat)["']?\s*=\s*["']([A-Za-z_]\w*)["']""")


class KnownSecrets:
    """The secrets of this process, longest first: one may be part of another.

    They are those of `known_secrets`, and the values of all variables that the files name with a key ending in `_env`.
    The files are followed: workers use a changed agents file without a restart.

    Args:
        urls: The URLs in use, with their passwords.
        files: The agents file and the deliveries file, which need not exist.
    """

    def __init__(self, urls: Iterable[str], files: Iterable[Path]) -> None:
        self._fixed = known_secrets(urls)
        self._files = tuple(files)
        self._read: tuple[tuple[int, int] | None, ...] | None = None
        self._named: set[str] = set()
        self._all = self._fixed

    def __iter__(self) -> Iterator[str]:
        """Iterate over the secrets as they are now."""
        stamps = tuple(map(_stamp, self._files))
        if stamps != self._read:
            # What an earlier version of a file named stays a secret.
            self._named.update(chain.from_iterable(map(_values_named_in, self._files)))
            self._read, self._all = stamps, tuple(sorted({*self._fixed, *self._named}, key=len, reverse=True))
        return iter(self._all)


def _stamp(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size


def _values_named_in(path: Path) -> Iterator[str]:
    try:
        text = path.read_text("utf-8", "replace")
    except OSError:
        return
    for name in dict.fromkeys(_NAMED.findall(text)):
        value = read_variable(name) or ""
        yield from (part for part in {value, *value.split()} if len(part) >= MIN_NAMED_CHARS)


def known_secrets(urls: Iterable[str]) -> tuple[str, ...]:
    """Return the passwords in the URLs in use, and the values of variables such as `OPENAI_API_KEY`.

    Longest first: one may be part of another.
    """
    passwords = [password for url in urls for password in _passwords(url)]
    variables = [value.strip() for name, value in os.environ.items() if _NAME.search(name)]
    values = {*passwords, *map(unquote, passwords), *variables, *exporter_secrets()}
    return tuple(sorted((value for value in values if len(value) >= MIN_SECRET_CHARS), key=len, reverse=True))


def _passwords(url: str) -> list[str]:
    """Return the password of the user and those in options, such as that of the Sentinels."""
    parts = urlsplit(url)
    options = [value for name, value in parse_qsl(parts.query) if names_secret_option(name)]
    return [password for password in (parts.password, *options) if password]
