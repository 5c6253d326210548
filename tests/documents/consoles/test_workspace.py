"""The console lines of the pages on dialog memory, conversations, schedules, evaluations and monitoring."""

from __future__ import annotations

import json
import re
import urllib.request

import pytest
from redis import Redis

from documents.installation import Installation
from documents.lines import ROOT
from documents.walk import Walk
from live import until
from processes.terminal import Running
from servers.otlp_receiver import OtlpReceiver
from servers.ports import own_port
from symposia.memory.rooms import DialogMemory

pytestmark = [pytest.mark.long, pytest.mark.timeout(240)]


@pytest.mark.leaves_keys
def test_memory(shared: Installation) -> None:
    with Redis.from_url(shared.url, decode_responses=True) as client:
        memory = DialogMemory(client)
        memory.store(42, "room_123", {"from": "Nairobi", "to": "London"}, service="travel")

        def talk() -> None:
            memory.store(42, "room_124", {"from": "Nairobi"}, service="travel")

        seen: list[str] = []
        Walk(
            shared.terminal, before={"symposia memory share": talk}, after={"symposia memory": seen.append}
        ).follow("memory.md", "On the command line")
    Walk(shared.terminal).follow("memory.md", "Show and delete texts")
    shown, rooms, exported, *_ = seen
    assert "London" in shown
    assert "room_123" in rooms
    assert json.loads(exported)
    assert "Nairobi" in exported


def test_conversations(shared: Installation) -> None:
    walk = Walk(shared.terminal)

    def note(out: str) -> None:
        task, conversation = re.findall(r"[0-9a-f]{8}-[0-9a-f-]{27}", out)[:2]
        walk.values |= {"CONVERSATION": conversation, "TASK": task}

    walk.after = {"symposia task request": note}
    walk.awaited = {"symposia conversation list": "The colour"}
    walk.follow("conversations.md", "Use it from the command line")


def test_schedules(shared: Installation) -> None:
    Walk(
        shared.terminal, awaited={"symposia schedule list": "standup", "symposia schedule history": ""}
    ).follow("schedules.md", "Schedules")
    for name in ("nightly", "standup"):
        assert shared.terminal.call("schedule", "remove", name).code == 0


def test_evaluations(shared: Installation) -> None:
    page = (ROOT / "docs/evaluations.md").read_text()
    (cases,) = re.findall(r"^```yaml\n(# cases.yaml\n.*?)^```", page, re.DOTALL | re.MULTILINE)
    (shared.folder / "cases.yaml").write_text(cases)
    people = "[{participant_id: writer}, {participant_id: editor, agent: {agent: echo, parameters: {replies: [Hm.]}}}]"
    (shared.folder / "sign.yaml").write_text(
        f"title: A sign\npurpose: No door, no lamp.\nmode: pair\nstop: {{max_rounds: 1}}\nparticipants: {people}\n"
    )
    # The numbers of the page are examples.
    row = re.search(r"^ now .*\n \.\.\.\n", page, re.MULTILINE)[0]
    Walk(shared.terminal, values={row: "..."}).follow("evaluations.md", "Evaluations")
    assert "polite" in (shared.folder / "report.html").read_text()


def test_traces(shared: Installation) -> None:
    """A second worker, which exports its traces."""
    with OtlpReceiver().serve() as receiver:
        Walk(
            shared.terminal,
            values={"http://collector:4318": receiver.url},
            after={"OTEL_": lambda service: run_session(shared, service)},
        ).follow("monitoring.md", "Traces")
        assert "session pair" in {it.name for it in receiver.received}


def run_session(installation: Installation, service: Running) -> None:
    service.until("ready.", timeout_s=60)
    installation.kill_worker()
    installation.complete(installation.submit("examples/pair.yaml"))
    installation.start_worker()


def fetch_metrics(port: str) -> bytes:
    """The answer; nothing while no server listens."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
            return bytes(answer.read())
    except OSError:
        return b""


def test_metrics(shared: Installation) -> None:
    port = str(own_port())

    def scrape(service: Running) -> None:
        service.until("ready.", timeout_s=60)
        until(lambda: b"symposia_" in fetch_metrics(port), what="metrics")

    Walk(shared.terminal, values={"9400": port}, after={"symposia worker": scrape}).follow(
        "monitoring.md", "Metrics"
    )
