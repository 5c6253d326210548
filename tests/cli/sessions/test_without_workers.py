"""Commands that would wait for ever because no worker is running say so at once, on standard error."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from live import until
from processes.terminal import Terminal
from symposia.state.presence import WorkerPresence
from symposia.state.redis.connect import connect

#: They start processes one after the other.
pytestmark = pytest.mark.timeout(180)


def warning(session: str) -> str:
    return (
        f"symposia: no worker is running, session {session} is waiting: start one"
        " with `symposia worker` or `symposia up`\n"
    )


def test_submit_warns_and_queues_without_workers(terminal: Terminal, pair_file: str):
    said = terminal.run("submit", pair_file, "--json")
    session = said.json()["id"]
    assert (said.code, said.json()["workers"], said.err) == (0, 0, warning(session))
    terminal.call("cancel", session)


@pytest.mark.long
def test_show_prints_why_a_session_does_not_move(terminal: Terminal, pair_file: str):
    session = terminal.call("submit", pair_file).out.strip()
    queued = re.compile(
        r"no worker \([1-9]\d* s in the queue\): the next step waits for a worker; it goes on when a worker starts"
    )
    until(lambda: queued.search(terminal.call("show", session).out))
    shown = terminal.call("show", session, "--json").json()
    assert (shown["attention"], shown["queued_for_s"] >= 1) == ("worker", True)
    terminal.call("cancel", session)
    assert terminal.call("show", session, "--json").json()["queued_for_s"] is None


@pytest.mark.parametrize("options", [(), ("--json",)])
@pytest.mark.long
def test_watch_warns_once_and_continues(terminal: Terminal, pair_file: str, options: tuple[str, ...]):
    session = terminal.call("submit", pair_file).out.strip()
    watching = terminal.start("watch", session, *options).until("no worker is running")
    terminal.call("cancel", session)
    said = watching.ended()
    assert (said.code, said.err) == (1, warning(session))


@pytest.mark.long
def test_agent_of_no_worker_is_named(busy: Terminal, pair_file: str):
    with connect(busy.settings["redis_url"]) as client:
        presence = WorkerPresence(client)
        presence.announce("w9@gone", ["coder"])
        path = Path(pair_file)
        path.write_text(path.read_text().replace("agent: echo", "agent: coder"))
        session = busy.call("submit", pair_file).out.strip()
        presence.leave("w9@gone")
    reason = "no worker knows agent coder"
    watching = busy.start("watch", session).until(reason)
    assert reason in until(lambda: re.search("no worker.*", busy.call("show", session).out))[0]
    assert busy.call("show", session, "--json").json()["awaited_agents"] == ["coder"]
    assert busy.call("list", "--json").json()[0]["awaited_agents"] == ["coder"]
    assert "no worker knows" in busy.call("list").out
    assert f"{reason}: 1 session waits for it" in busy.call("doctor").out
    busy.call("cancel", session)
    assert watching.ended().code == 1
