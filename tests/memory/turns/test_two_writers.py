"""Two workers write one memory at once: nothing is lost, and a turn costs two round trips."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import pytest

from checks.counting import counting_client
from scaling import patient
from symposia.memory.rooms import DialogMemory
from symposia.memory.store import MemoryStore
from symposia.memory.turn_memory import TurnMemory
from symposia.memory.values import MemoryRules

WRITES = 1_000
WRITER = """
import sys
from symposia.memory.rooms import DialogMemory
from symposia.memory.values import MemoryRules

url, name, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
memory = DialogMemory(url, MemoryRules(max_bytes=1_000_000))
print("ready", flush=True)
sys.stdin.readline()
for number in range(count):
    assert memory.store(42, "r", {f"{name}{number % 10}": number}, service="search")
"""


@pytest.mark.long
def test_concurrent_writers_lose_no_parameter(redis_url):
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
        assert writer.wait(patient(55)) == 0
        writer.stdout.close()
    state = DialogMemory(redis_url).get(42, "r")
    last = range(WRITES - 10, WRITES)
    assert state["parameters"] == {f"{name}{number % 10}": number for name in "ab" for number in last}
    assert state["metadata"]["message_count"] == 2 * WRITES, "each write was made once"


def test_memory_of_a_turn_takes_two_round_trips(stepper, redis_url):
    counted, trips = counting_client(redis_url)
    memory = TurnMemory(MemoryStore(counted, MemoryRules()))
    stepper.runtime = replace(stepper.runtime, ports=replace(stepper.runtime.ports, memory=memory))

    def turns(**how: object) -> list[int]:
        job = stepper.open("parser", "connector", turns=6, **how)
        taken = []
        for number in range(1, 7):
            assert stepper.turn(job, number) == "committed"
            taken.append(trips.taken())
        assert job.status() == "completed"
        return taken

    first, *others = turns(user_id=1, room_id="r")
    assert first <= 3, "once a server, the script is sent as a whole"
    assert others == [2] * 5
    stepper.client.memory.share(2, ["travel.from", "travel.to"])
    assert turns(user_id=2, room_id="r") == [2] * 6, "also where rooms share"
    assert turns() == [0] * 6
    assert turns(service="travel", said={"to": "London"}) == [0] * 6
    counted.close()
