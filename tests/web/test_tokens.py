"""A token from the command line, and a real server that needs it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx

from processes.terminal import Terminal
from servers.web import WebServer

TALK = {
    "title": "Doors",
    "purpose": "p",
    "mode": "round_robin",
    "participants": [{"participant_id": "ann", "agent": "say"}],
    "stop": {"max_rounds": 1},
}


def test_token_of_the_command_line_opens_the_server(web: Any, tmp_path: Path) -> None:
    server = WebServer(web.folder, web.settings, options=())
    terminal = Terminal(tmp_path, web.settings)  # its end is that of all processes of its folder
    try:
        create = ("token", "create", "--name", "bob", "--tenant", "depot", "--scope", "submit,read")
        token = terminal.call(*create).out.strip()
        server.start()
        assert server.http.get("/sessions").status_code == 401
        server.http.headers["Authorization"] = f"Bearer {token}"
        session_id = server.submit(session=TALK)
        assert [event.event for event in server.events(session_id)][-1] == "end"
        assert [row["id"] for row in server.get("/sessions")["items"]] == [session_id]
        shown = terminal.call("show", session_id, "--json").json()
        assert (shown["owner"], web.client.get_job(session_id).spec.tenant) == ("bob", "depot")
        assert server.http.post(f"/sessions/{session_id}/cancel", json={}).status_code == 403
        again = server.http.post(f"/sessions/{session_id}/continue", json={"text": "Once more."}).json()
        assert web.client.get_job(again["id"]).spec.owner == "bob"
        assert terminal.call("token", "revoke", token.split("_")[1]).code == 0
        assert server.http.get("/sessions").status_code == 401
        assert httpx.get(f"http://127.0.0.1:{server.port}/").status_code == 200  # the page has no data
        assert token.split("_", 2)[2] not in server.log_file.read_text()
    finally:
        server.close()
        terminal.close()
