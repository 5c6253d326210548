"""The public keys of JSON Web Tokens: read from a file or fetched by HTTPS, and cached."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Callable
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.request import HTTPRedirectHandler, build_opener

from jwt import PyJWK, PyJWKSet
from jwt.exceptions import PyJWTError

_log = logging.getLogger(__name__)

#: Seconds for which keys are used before they are read again.
LIFETIME_S = 300.0
#: Minimum seconds between two reads, also if an unknown key is named or the last read failed.
COOLDOWN_S = 30.0
_TIMEOUT_S = 5.0
_MAX_BYTES = 1_048_576
_SYMMETRIC = "oct"


class _NoRedirects(HTTPRedirectHandler):
    """Another server must not decide where keys come from."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


class KeySet:
    """The keys of one issuer, by their ids.

    A read that fails leaves the keys that are known in use. Calls that wait for a read wait for the same one.

    Args:
        source: An https URL, or the path of a file.
        now: Monotonic seconds.
    """

    def __init__(self, source: str, *, now: Callable[[], float] = time.monotonic) -> None:
        self._source = source
        self._now = now
        self._keys: dict[str | None, PyJWK] = {}
        self._read_s: float | None = None
        self._tried_s: float | None = None
        self._reading = asyncio.Lock()

    async def find(self, key_id: str | None) -> PyJWK | None:
        """Return a key; None: it is unknown. Without an id, the only key.

        Args:
            key_id: The header `kid` of a token.
        """
        if not self._is_fresh(key_id):
            async with self._reading:
                if not self._is_fresh(key_id):  # another call may have read them meanwhile
                    await asyncio.to_thread(self._read)
        if key_id is None and len(self._keys) == 1:
            return next(iter(self._keys.values()))
        return self._keys.get(key_id)

    def _is_fresh(self, key_id: str | None) -> bool:
        now_s = self._now()
        if self._tried_s is not None and now_s < self._tried_s + COOLDOWN_S:
            return True
        is_known = key_id in self._keys or (key_id is None and len(self._keys) == 1)
        return is_known and self._read_s is not None and now_s < self._read_s + LIFETIME_S

    def _read(self) -> None:
        try:
            keys = PyJWKSet.from_dict(json.loads(self._load())).keys
        except (OSError, HTTPException, ValueError, AttributeError, RecursionError, PyJWTError) as error:
            # The error may name the path or the host; it goes to the log only.
            _log.warning("keys of JSON Web Tokens cannot be read, using those that are known: %s", error)
        else:
            self._keys = {key.key_id: key for key in keys if self._is_usable(key)}
            self._read_s = self._now()
        self._tried_s = self._now()

    def _is_usable(self, key: PyJWK) -> bool:
        """Return whether a key may sign. A secret that others can download proves nothing."""
        is_public = "://" in self._source
        return key.public_key_use in ("sig", None) and not (is_public and key.key_type == _SYMMETRIC)

    def _load(self) -> bytes:
        if "://" not in self._source:
            with Path(self._source).open("rb") as file:
                return _whole(file.read(_MAX_BYTES + 1))
        opener = build_opener(_NoRedirects())
        with opener.open(self._source, timeout=_TIMEOUT_S) as response:  # nosec B310 - checked by the settings
            return _whole(response.read(_MAX_BYTES + 1))


def _whole(data: bytes) -> bytes:
    if len(data) > _MAX_BYTES:
        raise ValueError(f"more than {_MAX_BYTES:,} bytes")
    return data
