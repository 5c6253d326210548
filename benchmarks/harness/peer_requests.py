"""Requests of other libraries in the dialog of the case `prompts`; a program in the environment of the peers sends them."""

from __future__ import annotations

import json
import subprocess

from harness.peers import PYTHON
from harness.prompts import MESSAGE, Request
from harness.stage import FOLDER

#: The libraries.
PEERS = ("autogen", "langgraph")


def record_peer(peer: str, turns: int, max_tokens: int) -> dict[str, list[Request]]:
    """Return the requests of each agent of another library, which marks no points.

    Args:
        peer: One of `PEERS`.
        turns: Turns of the round-robin dialog.
        max_tokens: The window of its agents.
    """
    program = FOLDER / "peers" / "record_requests.py"
    limits = [f"--turns={turns}", f"--window={max_tokens}", f"--size={MESSAGE}"]
    done = subprocess.run(
        [PYTHON, program, peer, *limits], capture_output=True, text=True, check=True, timeout=120
    )
    requests: dict[str, list[Request]] = {}
    for agent, blocks in map(json.loads, done.stdout.splitlines()):
        requests.setdefault(agent, []).append(Request(tuple(blocks), ()))
    return requests
