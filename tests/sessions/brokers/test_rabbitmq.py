"""Sessions over RabbitMQ, which stops while a worker runs turns, and returns."""

from __future__ import annotations

import json

import pytest
from celery import Celery
from kombu import Connection

import symposia
from live import result_of, until
from scaling import patient
from servers.rabbit import Rabbit
from symposia.cli.doctor.checks import run_checks
from symposia.cli.doctor.server_checks import Grade
from symposia.config.celery import QUEUE
from symposia.config.settings import load_settings
from symposia.models.errors import UnsuitableQueue
from symposia.models.sessions.stop_conditions import MaxRounds, MaxTurns
from symposia.patches.broker_messages import MAX_MESSAGE_BYTES
from symposia.patches.celery_consumer import BAD_CONFIGURATION
from symposia.workers.worker_app import create_worker_app

pytestmark = [pytest.mark.xdist_group("rabbitmq"), pytest.mark.timeout(300), pytest.mark.long]

RESTARTS = 10
CONCURRENCY = 4
#: More than the worker has places: some wait in the queue when the broker stops.
SESSIONS = 6
#: Mode -> agents and options of a session in it.
MODES = {
    "round_robin": ({"ann": "say", "bob": "say"}, {"stop": MaxRounds(2)}),
    "orchestrated": ({"orchestrator": "lead", "coder": "say", "tester": "say", "writer": "say"}, {}),
    "pair": ({"driver": "say", "navigator": "navigator"}, {}),
    "broadcast": ({"ann": "say", "bob": "say", "sum": "say"}, {"options": {"aggregator": "sum"}}),
    "swarm": (
        {"ann": "claimer", "tess": "claimer"},
        {"roles": {"tess": "tester"}, "options": {"items": [{"text": "plan"}]}},
    ),
}


@pytest.fixture
def installation(installation, amqp_url):
    installation.broker_url = amqp_url
    installation.lease_s = 60
    return installation


def calls_of(installation, gate: str) -> list[tuple[int, int]]:
    """Turn and attempt of every call of an agent in the sessions of a gate."""
    log = installation.folder / f"{gate}.jsonl"
    lines = log.read_text().splitlines() if log.exists() else []
    return [(call["turn"], call["attempt"]) for call in map(json.loads, lines)]


#: Log level at which each lost connection has its line.
EVERY_ATTEMPT = ("--loglevel", "DEBUG")


def submit_gated(installation, gate: str) -> list:
    """Submit sessions whose first turns wait for a gate file; return when the worker has no place left."""
    parameters = {
        "gate": str(installation.folder / gate),
        "gate_turn": 1,
        "log": str(installation.folder / f"{gate}.jsonl"),
    }
    agents = {"ann": "gated", "bob": "gated"}
    jobs = [
        installation.submit("round_robin", agents, stop=MaxTurns(4), parameters=parameters)
        for _ in range(SESSIONS)
    ]
    until(lambda: len(calls_of(installation, gate)) == CONCURRENCY, what="the worker has no place left")
    return jobs


def check_ended(installation, gate: str, jobs: list, checked) -> None:
    for job in jobs:
        result = result_of(job, timeout_s=60)
        assert (result.ok, result.turns) == (True, 4)
        checked(job, result)
    once = [(turn, 1) for turn in range(1, 5)]
    assert sorted(calls_of(installation, gate)) == sorted(once * SESSIONS), "no turn is paid for twice"


def await_lost_connection(worker, act) -> None:
    """Do something to the broker and wait until the worker notices."""
    before = worker.lost_connections()
    act()
    until(lambda: worker.lost_connections() > before, what="the worker notices")


@pytest.mark.parametrize("queue_type", ["classic", "quorum"])
def test_sessions_of_every_mode_run(installation, rabbit: Rabbit, amqp_url, checked, queue_type):
    installation.queue_type = queue_type
    installation.start_worker()
    jobs = [installation.submit(mode, agents, **options) for mode, (agents, options) in MODES.items()]
    for job in jobs:
        result = result_of(job, timeout_s=60)
        assert result.ok
        checked(job, result)
    until(lambda: rabbit.queues(amqp_url)[QUEUE].unacknowledged == 0, what="all is acknowledged")


def declare(url: str, queue_type: str, name: str = QUEUE, **arguments: int) -> None:
    """Declare a queue, that of the Celery tasks or another one, with a type; fails if it has another one."""
    with Connection(url) as connection:
        arguments = {"x-queue-type": queue_type, **arguments}
        connection.channel().queue_declare(name, durable=True, auto_delete=False, arguments=arguments)


def test_quorum_queue_outlives_a_killed_worker(installation, rabbit: Rabbit, amqp_url, checked):
    installation.queue_type, installation.lease_s = "quorum", 5
    killed = installation.start_worker(concurrency=CONCURRENCY)
    jobs = submit_gated(installation, "gate")
    killed.kill()
    (installation.folder / "gate").touch()
    installation.start_worker(concurrency=CONCURRENCY)
    for job in jobs:
        result = result_of(job, timeout_s=60)
        assert (result.ok, result.turns) == (True, 4)
        checked(job, result)
    until(lambda: rabbit.queues(amqp_url)[QUEUE].unacknowledged == 0, what="all is acknowledged")
    declare(amqp_url, "quorum")
    (agents_queue,) = [name for name in rabbit.queues(amqp_url) if ".agents." in name]
    declare(amqp_url, "quorum", agents_queue, **{"x-expires": 3_600_000})


@pytest.mark.parametrize(("found", "configured"), [("quorum", "classic"), ("classic", "quorum")])
def test_queue_of_another_type_ends_the_worker_with_one_line(installation, amqp_url, found, configured):
    declare(amqp_url, found)
    installation.queue_type = configured
    worker = installation.start_worker(wait=False)
    assert worker.process.wait(patient(40)) == BAD_CONFIGURATION
    (line,) = [it for it in worker.log().splitlines() if "CRITICAL" in it]
    assert "set SYMPOSIA_QUEUE_TYPE (quorum or classic)" in line
    assert "Traceback" not in worker.log()
    with pytest.raises(UnsuitableQueue, match="set SYMPOSIA_QUEUE_TYPE"):
        installation.submit("pair", MODES["pair"][0])
    broker = [it for it in run_checks(load_settings(**installation.settings)) if it.subject == "broker"]
    assert [it.grade for it in broker] == [Grade.BAD]
    assert "SYMPOSIA_QUEUE_TYPE" in broker[0].advice


@pytest.mark.leaves_keys
@pytest.mark.parametrize(
    ("conf", "setting", "own", "ours"),
    [
        ({}, "quorum", "classic", "quorum"),
        ({"task_default_queue_type": "quorum"}, "quorum", "quorum", "quorum"),
        ({"task_default_queue_type": "quorum"}, "classic", "quorum", "classic"),
        ({"task_create_missing_queue_type": "quorum"}, "classic", "classic", "quorum"),
    ],
)
def test_app_of_a_user_and_sessions_have_queues_of_their_types(
    installation, rabbit: Rabbit, amqp_url, checked, monkeypatch, conf, setting, own, ours
):
    installation.queue_type = setting
    monkeypatch.setenv("SHOP_BACKEND", installation.redis_url)
    monkeypatch.setenv("SHOP_CONF", json.dumps(conf))
    worker = installation.start_worker(
        app="processes.foreign_app", options=["--pool", "threads"], concurrency=CONCURRENCY
    )
    shop = Celery("shop", broker=amqp_url, backend=installation.redis_url, set_as_current=False)
    yaml = {"accept_content": ["yaml"], "task_serializer": "yaml", "result_serializer": "yaml"}
    shop.conf.update(task_default_queue="shop", **yaml, **conf)
    symposia.install(shop, load_settings(**installation.settings))
    assert shop.send_task("shop.size", ["12345"]).get(timeout=patient(30)) == 5
    with symposia.Client(app=shop) as client:
        collab = {"title": "t", "purpose": "p", "mode": "round_robin"}
        agents = {"ann": "say", "bob": "say"}
        jobs = [client.submit(collab, agents=agents, stop={"max_rounds": 2}) for _ in range(SESSIONS)]
        for job in jobs:
            result = result_of(job, timeout_s=60)
            assert (result.ok, result.turns) == (True, 4)
            checked(job, result)
    for name, queue_type in ((QUEUE, ours), ("shop", own)):
        until(lambda name=name: rabbit.queues(amqp_url)[name].unacknowledged == 0, what="all is acknowledged")
        declare(amqp_url, queue_type, name)
    assert " ERROR" not in worker.log(), worker.log()


def test_foreign_queue_of_another_type_does_not_stop_the_worker(installation, amqp_url, checked):
    with Connection(amqp_url) as connection:
        connection.channel().queue_declare(
            "foreign", durable=True, auto_delete=False, arguments={"x-queue-type": "quorum"}
        )
    worker = installation.start_worker()
    create_worker_app(load_settings(**installation.settings)).control.add_consumer("foreign")
    until(lambda: "not consuming from queue foreign" in worker.log(), what="the worker refuses the queue")
    job = installation.submit("pair", MODES["pair"][0])
    result = result_of(job, timeout_s=60)
    assert result.ok
    checked(job, result)
    assert worker.log().count("not consuming from queue") == 1


def test_a_worker_survives_ten_broker_restarts(installation, rabbit: Rabbit, amqp_url, checked):
    worker = installation.start_worker(concurrency=CONCURRENCY, options=EVERY_ATTEMPT)
    for restart in range(RESTARTS):
        gate = f"gate{restart}"
        jobs = submit_gated(installation, gate)
        await_lost_connection(worker, rabbit.stop_app)
        if restart % 2:  # turns end while the broker is away, or after it is back
            (installation.folder / gate).touch()
        rabbit.start_app()
        (installation.folder / gate).touch()
        check_ended(installation, gate, jobs, checked)
    until(lambda: rabbit.queues(amqp_url)[QUEUE].unacknowledged == 0, what="all is acknowledged")

    assert worker.process.poll() is None, worker.log()
    assert "not acknowledged, its connection was lost" in worker.log()


def test_a_worker_survives_closed_connections(installation, rabbit: Rabbit, amqp_url, checked):
    """The broker stays, so messages of turns in flight are delivered again at once."""
    worker = installation.start_worker(concurrency=CONCURRENCY, options=EVERY_ATTEMPT)
    jobs = submit_gated(installation, "gate")
    await_lost_connection(worker, rabbit.close_connections)
    (installation.folder / "gate").touch()
    check_ended(installation, "gate", jobs, checked)
    until(lambda: rabbit.queues(amqp_url)[QUEUE].unacknowledged == 0, what="all is acknowledged")


def test_large_message_is_refused_undecoded(installation, rabbit: Rabbit, amqp_url, checked):
    worker = installation.start_worker()
    headers = {"lang": "py", "task": "symposia.advance", "id": "large", "root_id": "large"}
    form = {"headers": headers, "content_type": "application/json", "content_encoding": "utf-8"}
    with Connection(amqp_url) as connection:
        producer = connection.Producer()
        producer.publish(b"[" + b" " * MAX_MESSAGE_BYTES + b"]", routing_key=QUEUE, **form)
        producer.publish(b"[[], {}, {}]", routing_key=QUEUE, compression="gzip", **form)
    for told in ("bytes exceed the limit of 1,048,576", "compressed messages are not accepted"):
        until(lambda told=told: told in worker.log(), what="the message is refused")
    job = installation.submit("pair", MODES["pair"][0])
    result = result_of(job, timeout_s=60)
    assert result.ok
    checked(job, result)
    until(lambda: rabbit.queues(amqp_url)[QUEUE].unacknowledged == 0, what="all is settled")
