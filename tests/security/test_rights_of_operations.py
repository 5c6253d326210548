"""Steering, questions, the sweep, archive, reviews, schedules, memory and Flower need no more rights than those granted."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
import yaml
from redis import Redis
from redis.exceptions import NoPermissionError

from documents.pages import ROOT
from live import result_of, until
from review_tools.schedules import ScheduleInstallation
from scaling import patient
from servers.flower import FlowerServer
from servers.granted import granted_server, read_rule, url_of
from symposia.cli.doctor.server_checks import ready_messages
from symposia.client import Client
from symposia.client.building.broker import broker_connection
from symposia.config.celery import QUEUE
from symposia.config.settings import child_environment, load_settings
from symposia.models.protocol.collab import Collab, Participant
from symposia.models.sessions.priority import Priority
from symposia.state.redis.keys import DUE

CREDENTIALS = "ann:secret"
CALL = re.compile(r"redis\.p?call\(\s*['\"](\w+)['\"]", re.IGNORECASE)
#: What KEDA's scaler for Redis runs.
LENGTH = """
local commands = { zset = 'zcard', list = 'llen', none = 'llen' }
return redis.call(commands[redis.call('type', KEYS[1]).ok], KEYS[1])
"""


@pytest.fixture
def servers(tmp_path: Path) -> Iterator[tuple[str, str]]:
    (folder := tmp_path / "server").mkdir()
    with granted_server(folder, read_rule("deploying-redis.md", "keda")) as urls:
        yield urls


@pytest.fixture
def installation(
    tmp_path: Path, servers: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> Iterator[ScheduleInstallation]:
    """Agents, jobs and roots for all processes, with an archive."""
    monkeypatch.setenv("SYMPOSIA_ARCHIVE", "true")
    monkeypatch.setenv("SYMPOSIA_ARCHIVE_INTERVAL_S", "0.2")
    installation = ScheduleInstallation(tmp_path, servers[0])
    installation.write_jobs()
    installation.write_shop()
    monkeypatch.chdir(tmp_path)
    with ExitStack() as installation.stack:
        yield installation


def collab() -> Collab:
    people = [Participant(participant_id=name) for name in ("ann", "bob")]
    return Collab(title="t", purpose="p", mode="round_robin", participants=people)


def answer_a_question(client: Client) -> str:
    """A person answers, after the session was suspended, resumed and given a post."""
    job = client.submit(collab(), agents={"ann": "human", "bob": "say"}, stop={"max_turns": 2})
    (question,) = until(client.inbox, what="a question")
    job.suspend()
    job.resume()
    job.post("Think of the garden.")
    job.reply(question.participant, "The Lantern Room?")
    assert result_of(job).reason == "max_turns"
    return job.id


def use_memory(client: Client) -> None:
    assert client.memory.shared("42") == ()
    client.memory.show("42", "7")
    client.memory.forget("42", "7")


def run_schedule(client: Client) -> None:
    client.schedules.add("often", every=1, job="say")
    until(lambda: client.schedules.history("often"), what="a run of the schedule")
    client.schedules.remove("often")


def read_flower(flower: FlowerServer, session: str) -> None:
    pages = (
        "/collabs",
        f"/collabs/{session}",
        "/inbox",
        "/schedules",
        "/reviews",
        "/tasks",
        "/workers",
        "/broker",
    )
    for path in (*pages, "/metrics", "/healthcheck", "/api/collabs"):
        assert flower.get(path).status == 200, (path, flower.log())


@pytest.mark.long
@pytest.mark.timeout(240)
def test_operations_need_only_granted_rights(
    installation: ScheduleInstallation, servers: tuple[str, str]
) -> None:
    administrator = Redis.from_url(servers[1], decode_responses=True)
    administrator.acl_log_reset()
    client = installation.client
    lost = client.submit(collab(), agents=dict.fromkeys(("ann", "bob"), "say"), stop={"max_turns": 2})
    administrator.delete(QUEUE)  # only the sweep knows of the session now
    installation.start_worker()
    installation.start_beat()
    assert result_of(lost).ok
    session = answer_a_question(client)
    use_memory(client)
    run_schedule(client)
    assert client.review("shop", panel="at_once").result(timeout=patient(60))
    until(lambda: session in archived(client), what="the session is archived")
    settings = child_environment(load_settings(**installation.settings))
    options = {name.removeprefix("SYMPOSIA_").lower(): value for name, value in settings.items()}
    flower = FlowerServer(
        installation.folder, options, {"FLOWER_BASIC_AUTH": CREDENTIALS}, credentials=CREDENTIALS
    )
    installation.stack.callback(flower.kill)
    read_flower(flower.start(), session)
    assert administrator.acl_log() == []


def test_every_command_of_a_script_is_granted(servers: tuple[str, str]) -> None:
    """Also of those scripts that the other tests do not run."""
    scripts = [it.read_text() for it in (ROOT / "state").rglob("*.lua")]
    commands = {found.lower() for text in scripts for found in CALL.findall(text)}
    with Redis.from_url(servers[1], decode_responses=True) as admin:
        known = admin.command()
        for command in commands:
            words = ["symposia:x"] * (abs(known[command]["arity"]) - 1)
            words[:0] = ["usage"] if command == "memory" else []
            assert admin.execute_command("ACL", "DRYRUN", "symposia", command, *words) == "OK"
    assert len(commands) > 20


def archived(client: Client) -> set[str]:
    reader = client.archived()
    return {it.session_id for it in reader.page().items} if reader else set()


def test_lists_of_rooms_also_need_scan(servers: tuple[str, str]) -> None:
    client = Client(load_settings(redis_url=servers[0]))
    with Redis.from_url(servers[1]) as admin:
        with pytest.raises(NoPermissionError):
            client.memory.share("42", ["travel.from"])
        admin.execute_command("ACL", "SETUSER", "symposia", "+scan")
        client.memory.share("42", ["travel.from"])
        assert (client.memory.shared("42"), client.memory.rooms("42")) == (("travel.from",), [])


@pytest.mark.long
def test_keda_counts_the_messages_of_all_lanes(
    installation: ScheduleInstallation, servers: tuple[str, str]
) -> None:
    """What the formula of the manifest gives while a busy worker leaves messages in the lanes."""
    installation.start_worker()
    client, agents = installation.client, {"ann": "gated", "bob": "say"}
    files = {"gate": str(installation.gate), "log": str(installation.folder / "calls.jsonl")}
    for _ in range(4):
        client.submit(collab(), agents=agents, parameters=files)
    until(lambda: len(installation.calls()) == 4, what="the worker is busy")
    tenants = [None, *(f"t{number}" for number in range(20))]
    waiting = [(tenant, priority) for tenant in tenants for priority in Priority]
    for tenant, priority in waiting:
        client.submit(collab(), agents=agents, tenant=tenant, priority=priority)
    scaled = next(yaml.safe_load_all((ROOT / "deploy/kubernetes/scaling.yaml").read_text()))["spec"]
    with Redis.from_url(url_of("keda", servers[1])) as keda:
        lengths = {it["name"]: keda.eval(LENGTH, 1, it["metadata"]["listName"]) for it in scaled["triggers"]}
    due = lengths.pop("due")
    assert (sum(lengths.values()), due) == (len(waiting), len(waiting) + 4)
    assert len([length for length in lengths.values() if length]) > 3 * len(tenants) / 2
    formula = scaled["advanced"]["scalingModifiers"]["formula"]
    assert eval(formula, {"max": max}, {**lengths, "due": due}) == len(waiting) / 32  # noqa: S307 - our own file
    with broker_connection(servers[0], timeout_s=5) as broker:
        assert ready_messages(broker, QUEUE) == len(waiting)


@pytest.mark.long
def test_keda_reads_two_lengths_and_nothing_else(servers: tuple[str, str]) -> None:
    with Redis.from_url(servers[1]) as admin, Redis.from_url(url_of("keda", servers[1])) as keda:
        admin.rpush(QUEUE, "a", "b")
        admin.zadd(DUE, {"x": time.time()})
        assert (keda.eval(LENGTH, 1, QUEUE), keda.eval(LENGTH, 1, DUE)) == (2, 1)
        for command in (("GET", "symposia:sessions"), ("LPOP", QUEUE), ("ZREM", DUE, "x"), ("KEYS", "*")):
            with pytest.raises(NoPermissionError):
                keda.execute_command(*command)
