"""The console lines of the page on HTTP."""

from __future__ import annotations

import pytest

from documents.installation import Installation
from documents.walk import Walk
from live import until
from processes.terminal import Running
from servers.ports import own_port

pytestmark = [pytest.mark.long, pytest.mark.timeout(240)]

SESSION = "curl -s localhost:8765/v1/sessions/3f2a91c4-1111-4111-8111-111111111111"


def test_http(shared: Installation) -> None:
    port = own_port()

    def serves(service: Running) -> None:
        service.until("Serving HTTP")
        until(lambda: walk.run(f"curl -s localhost:{port}/v1/files").returncode == 0, what="it answers")

    walk = Walk(
        shared.terminal,
        values={"8765": str(port)},
        after={"symposia serve": serves, "curl -sN": lambda out: out.index("event: message")},
        awaited={f"{SESSION}/questions": '"turn_id":2'},
    )
    walk.follow("http.md")
