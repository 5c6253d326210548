"""Two workers write one memory at once: nothing is lost, and a turn costs two round trips."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

from celery import Celery

from counting import counting_client
from live import SUPPORT
from memory_agents import REGISTRY
from symposia.client import Client
from symposia.config.settings import load_settings
from symposia.models.collab import Collab, CollabMode, Participant
from symposia.models.stop import MaxTurns
from symposia.state.memory import DialogMemory
from symposia.state.memory_store import MemoryStore
from symposia.state.memory_values import MemoryRules
from symposia.tasks.advance import advance
from symposia.tasks.graph import TurnCall
from symposia.tasks.memory import TurnMemory
from symposia.tasks.speak import run_turn
from symposia.workers.runtime import build_runtime

WRITES = 1_000
WRITER = """
import sys
from symposia.state.memory import DialogMemory
from symposia.state.memory_values import MemoryRules

url, name, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
memory = DialogMemory(url, MemoryRules(max_bytes=1_000_000))
print("ready", flush=True)
sys.stdin.readline()
for number in range(count):
    assert memory.store(42, "r", {f"{name}{number % 10}": number}, service="search")
"""


def test_two_processes_write_different_parameters_a_thousand_times_and_none_is_lost(redis_url):
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, redis_url, name, str(WRITES)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for name in ("a", "b")
    ]
    for writer in writers:
        assert writer.stdout.readline() == "ready\n"
    for writer in writers:  # both at once, from here on
        writer.stdin.write("go\n")
        writer.stdin.close()
    for writer in writers:
        assert writer.wait(55) == 0
        writer.stdout.close()
    state = DialogMemory(redis_url).get(42, "r")
    last = range(WRITES - 10, WRITES)
    assert state["parameters"] == {f"{name}{number % 10}": number for name in "ab" for number in last}
    assert state["metadata"]["message_count"] == 2 * WRITES, "each write was made once"


def test_reading_merging_and_writing_take_two_round_trips_a_turn(redis_url, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(SUPPORT))
    (tmp_path / "agents.toml").write_text(REGISTRY)
    settings = load_settings(redis_url=redis_url, agents_file=tmp_path / "agents.toml", data_dir=tmp_path)
    app = Celery(broker=redis_url, set_as_current=False)
    client = Client(settings, app=app)
    counted, trips = counting_client(redis_url)
    built = build_runtime(app, settings, redis_url=redis_url)
    runtime = replace(built, memory=TurnMemory(MemoryStore(counted, MemoryRules())))

    def turns(**how: object) -> list[int]:
        people = [Participant(participant_id=name) for name in ("parser", "connector")]
        collab = Collab(title="A trip", purpose="book it", mode="round_robin", participants=people)
        job = client.submit(collab, stop=MaxTurns(6), **how)
        advance(runtime, job.id, parent=job.id)
        taken = []
        for number in range(1, 7):
            name = people[(number - 1) % 2].participant_id
            call = TurnCall(job.id, number, name, CollabMode.ROUND_ROBIN, "floor")
            assert run_turn(runtime, call, task_id=f"t{number}", parent_id=job.id) == "committed"
            taken.append(trips.taken())
        assert job.status() == "completed"
        return taken

    first, *others = turns(user_id=1, room_id="r")
    assert first <= 3, "once a server, the script is sent as a whole"
    assert others == [2] * 5
    client.memory.share(2, ["travel.from", "travel.to"])
    assert turns(user_id=2, room_id="r") == [2] * 6, "also where rooms share"
    assert turns() == [0] * 6
    assert turns(service="travel", said={"to": "London"}) == [0] * 6
    counted.close()
