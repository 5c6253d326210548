"""Flower's own pages: turns of sessions in the list of tasks, and the lengths of queues."""

from __future__ import annotations

import asyncio
from urllib.parse import urlencode

import pytest
from celery.events.state import Task

from live import mood, until
from scaling import patient
from servers.flower import FlowerServer
from symposia.client import Client
from symposia.client.building.app import create_app
from symposia.config.celery import QUEUE
from symposia.config.settings import load_settings
from symposia.dashboard.flower_pages.queues import AmqpQueues, QueueLength, SummedLanes
from symposia.dashboard.flower_pages.task_list import describe_task
from symposia.dashboard.flower_pages.task_page import in_order
from symposia.models.protocol.collab import Collab, Participant
from symposia.models.sessions.stop_conditions import MaxTurns
from symposia.tasks.runtime.lanes import lane_queues

#: They start servers of their own.
pytestmark = pytest.mark.long

COLUMNS = ("name", "uuid", "state", "session", "mode", "participant", "turn", "result")
#: Flower's own API answers without authentication.
OPEN_API = {"FLOWER_UNAUTHENTICATED_API": "true"}
HOSTILE = "<img src=x onerror=alert(1)>"


@pytest.fixture
def settings(settings):
    """A message that waits on a slow machine is not sent again: the queue would be longer."""
    return settings | {"redispatch_after_s": "60"}


def rows(flower: FlowerServer, search: str = "") -> list[dict]:
    """The rows of the list of tasks, as the page asks for them."""
    query = {"draw": 1, "start": 0, "length": 100, "search[value]": search}
    query |= {"order[0][column]": 0, "order[0][dir]": "desc", "columns[0][data]": "received"}
    return flower.json(f"/tasks/datatable?{urlencode(query)}")["data"]


def turns(flower: FlowerServer, job) -> list[dict]:
    return [row for row in rows(flower, job.id) if row["turn"]]


def submit(client: Client, agents: dict[str, str], **options):
    people = {name: "human" if agent == "human" else "agent" for name, agent in agents.items()}
    collab = Collab(
        title="A talk",
        purpose="Talk.",
        mode="round_robin",
        participants=[Participant(participant_id=name, kind=kind) for name, kind in people.items()],
    )
    return client.submit(collab, agents=agents, **options)


def test_task_list_shows_sessions_and_results(start_flower, client, worker):
    flower = start_flower(environment=OPEN_API)
    until(lambda: flower.json("/workers?json=1")["data"], what="Flower receives events")
    page = flower.get("/tasks").text
    assert all(f'data-column="{name}"' in page for name in COLUMNS)
    policy = {"attempts": 2, "backoff_s": 0.05, "then": "skip"}
    job = submit(
        client,
        {"ann": "say", "bob": "moody", "cyd": "human"},
        stop=MaxTurns(3),
        policies={"bob": policy},
        parameters={"fails": 9},
    )

    def waits_for_cyd():
        return [it for it in turns(flower, job) if it["state"] == "AWAITING_HUMAN"]

    (waiting,) = until(waits_for_cyd, what="the parked turn is shown as waiting")
    assert (waiting["participant"], waiting["mode"], waiting["turn"]) == ("cyd", "round robin", "3")
    assert (waiting["session"], waiting["result"]) == (job.id[:8], "parked: waiting for cyd")

    def results_of(participant):
        # Events of a worker arrive up to a tenth of a second later than the report of a parked turn.
        found = sorted(
            (it["state"], it["result"]) for it in turns(flower, job) if it["participant"] == participant
        )
        return found if all(result for _, result in found) else None

    ((state, said),) = until(lambda: results_of("ann"), what="the result of ann is shown")
    assert (state, said.startswith("said ")) == ("SUCCESS", True)
    assert until(lambda: results_of("bob"), what="the results of bob are shown") == [
        ("FAILURE", f"failed: {mood(2)}; the turn is skipped"),
        ("RETRY", f"failed: {mood(1)}; attempt 1 of 2, retried in 0.05 s"),
    ]
    stored = flower.json("/api/tasks?state=AWAITING_HUMAN")
    assert [it["state"] for it in stored.values()] == ["AWAITING_HUMAN"]
    assert "parked: waiting for cyd" in flower.get(f"/task/{waiting['uuid']}").text
    assert {it["name"] for it in rows(flower, job.id)} == {"symposia.turn"}
    assert {it["name"] for it in rows(flower, "name:symposia.advance")} == {"symposia.advance"}

    job.reply("cyd", "Here I am.")
    job.result(timeout=patient(40))

    def answered():
        return [it for it in turns(flower, job) if it["uuid"] == waiting["uuid"] and it["state"] == "SUCCESS"]

    (end,) = until(answered, what="the answered turn is shown as done")
    assert end["result"] == "answered by cyd"
    assert end["worker"] == "w1@live"
    workers = {it["hostname"] for it in flower.json("/workers?json=1")["data"]}
    assert workers == {"w1@live"}, "the client that answered is no worker"


@pytest.mark.leaves_keys
def test_broker_page_shows_waiting_and_taken_messages(start_flower, client, tmp_path, worker):
    flower = start_flower(environment=OPEN_API)
    gate = tmp_path / "gate"
    jobs = [
        submit(client, {"ann": "gated"}, stop=MaxTurns(1), parameters={"gate": str(gate)}) for _ in range(6)
    ]

    def common_queue():
        queues = flower.json("/api/queues/length")["active_queues"]
        return next(it for it in queues if it["name"] == "symposia")

    def lengths():
        queue = common_queue()
        busy = (queue["messages_ready"], queue["messages_unacknowledged"]) == (2, 4)
        return queue if busy else None

    queue = until(lengths, what="four turns run and two wait")
    assert queue["messages"] == 6
    assert until(lambda: common_queue()["consumers"] == 1)
    text = " ".join(flower.get("/broker").text.split())
    assert '<td class="broker-secondary-column">4</td> <td>2</td>' in text
    gate.touch()
    for job in jobs:
        job.result(timeout=patient(40))


def consumers(flower: FlowerServer) -> int:
    queues = flower.json("/api/queues/length")["active_queues"]
    return next(it["consumers"] for it in queues if it["name"] == "symposia")


def test_broker_page_counts_the_workers_that_run(start_flower, request):
    flower = start_flower(environment=OPEN_API)
    assert consumers(flower) == 0
    worker = request.getfixturevalue("worker")
    until(lambda: consumers(flower) == 1, what="a worker that started after Flower is counted")
    worker.kill()
    until(lambda: consumers(flower) == 0, what="a worker that has ended is not counted")


#: Actions of Flower's page of a worker: status, and words of the answer.
ACTIONS = {
    "worker/pool/grow/{worker}?n=1": (403, "has a fixed size: restart the worker with another --concurrency"),
    "worker/pool/shrink/{worker}?n=1": (
        403,
        "has a fixed size: restart the worker with another --concurrency",
    ),
    "worker/pool/autoscale/{worker}?min=1&max=3": (403, "needs a worker of the pool prefork"),
    "worker/pool/restart/{worker}": (403, "restart the worker (SIGHUP)"),
    "task/rate-limit/symposia.turn?workername={worker}&ratelimit=9/s": (200, "rate limit set"),
    "task/timeout/symposia.turn?workername={worker}&hard=9&soft=8": (403, "set the deadline of turns"),
    "worker/queue/add-consumer/{worker}?queue=more": (200, "add consumer more"),
    "worker/queue/cancel-consumer/{worker}?queue=more": (200, "no longer consuming from more"),
    "worker/shutdown/{worker}": (200, "Shutting down"),
}


def test_actions_on_a_worker_are_done_or_refused_with_a_reason(start_flower, worker):
    flower = start_flower(environment=OPEN_API)
    until(lambda: flower.get("/worker/w1@live").status == 200, what="Flower has inspected the worker")
    for path, (status, words) in ACTIONS.items():
        answer = flower.post(f"/api/{path.format(worker='w1@live')}")
        assert (answer.status, words in answer.text) == (status, True), answer
    worker.process.wait(patient(30))
    assert "Traceback" not in worker.log()


@pytest.mark.parametrize(("sent", "received", "shown"), [(5.0, 4.0, 4.0), (3.0, 4.0, 3.0), (None, 4.0, None)])
def test_a_task_is_sent_before_it_is_received(sent, received, shown):
    task = in_order(Task(uuid="t", sent=sent, received=received))
    assert (task.sent, task.received) == (shown, received)
    assert describe_task({"sent": sent, "received": received})["sent"] == shown
    assert not shown or task._fields.index("sent") < task._fields.index("received")


@pytest.mark.parametrize("session", ["", "?session=77777777-7777-4777-8777-777777777777"])
def test_unknown_task_has_a_page_that_says_what_to_do(flower, session):
    answer = flower.get(f"/task/77777777-7777-4777-8777-777777777777{session}")
    assert answer.status == 302
    answer = flower.get(answer.headers["location"])
    assert (answer.status, "Open the task from the page of its session" in answer.text) == (404, True)
    assert flower.get("/task/no-task").status == 404


def test_configured_columns_are_kept(start_flower):
    page = start_flower(environment={"FLOWER_TASKS_COLUMNS": "name,state"}).get("/tasks").text
    assert 'data-column="state"' in page
    assert 'data-column="session"' not in page


@pytest.mark.parametrize(
    ("task", "described"),
    [
        (
            {"kwargs": "session=abcdefgh-1", "result": "'planned turn 1'"},
            ("abcdefgh", "", "", "planned turn 1"),
        ),
        ({"kwargs": None, "result": None}, ("", "", "", "")),
        ({"kwargs": "{'a': 1}", "result": "[1, 2]"}, ("", "", "", "[1, 2]")),
        ({"kwargs": "", "exception": "OSError('no disk')"}, ("", "", "", "no disk")),
        (
            {"kwargs": f"session=abcdefgh-1 mode=pair turn=2 participant={HOSTILE}", "result": repr(HOSTILE)},
            ("abcdefgh", HOSTILE, "2", HOSTILE),
        ),
    ],
)
def test_task_row_comes_from_its_arguments(task, described):
    found = describe_task(task)
    assert (found["session"], found["participant"], found["turn"], found["result"]) == described


def test_rabbitmq_queues_are_read_without_the_plugin(amqp_url: str, redis_url: str):
    app = create_app(load_settings(redis_url=redis_url, broker_url=amqp_url))
    with app.connection_for_write() as connection:
        queue = connection.SimpleQueue("symposia")
        for _ in range(3):
            queue.put({"a": 1})
        queue.close()

    def counted() -> dict[str, object] | None:
        (found,) = asyncio.run(AmqpQueues(app).queues(["symposia", "none"]))
        return found if found["messages_ready"] == 3 else None

    found = until(counted)  # the broker does not confirm messages
    assert (found["name"], found["consumers"]) == ("symposia", 0)
    assert found["messages_unacknowledged"] is None


def test_common_queue_includes_its_lanes():
    class Lengths:
        async def queues(self, names):
            return [
                QueueLength(name=it, messages=1, messages_ready=1, messages_unacknowledged=0, consumers=1)
                for it in names
            ]

    listed = asyncio.run(SummedLanes(Lengths()).queues([QUEUE, *lane_queues(QUEUE), "other"]))
    assert [(it["name"], it["messages"], it["messages_ready"]) for it in listed] == [
        (QUEUE, 1 + len(lane_queues(QUEUE)), 1 + len(lane_queues(QUEUE))),
        ("other", 1, 1),
    ]
