"""Checks of the HTTP API: its address, and the session files that its callers may submit."""

from __future__ import annotations

import socket
from collections.abc import Iterator

from ...config.settings import Settings
from ...jobs.session_file import SessionFile
from ...models.errors import InvalidInput
from ...workers.local.services import LOOPBACK
from .server_checks import CheckResult, bad, good

_TIMEOUT_S = 0.5


def check_http(settings: Settings) -> Iterator[CheckResult]:
    """Report the address of the HTTP API if it runs on this machine, and session files that cannot be read."""
    try:
        socket.create_connection((LOOPBACK, settings.http_port), timeout=_TIMEOUT_S).close()
    except OSError:
        pass
    else:
        yield good("HTTP API", f"http://{LOOPBACK}:{settings.http_port}/v1")
    for name, path in sorted(settings.jobs.items()):
        try:
            SessionFile.open(str(path), root=settings.session_root).inputs()
        except InvalidInput as error:
            yield bad("session files", f"{name}: {error}", "correct the file, or the setting `jobs`")
