"""`symposia doctor` reports problems and what to do."""

from __future__ import annotations

import os
import socket
import stat
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from redis import Redis

from live import until
from processes.terminal import Terminal
from servers.mail.smtp_sink import SmtpSink
from symposia.cli.doctor.machine_checks import check_agents
from symposia.cli.doctor.server_checks import Grade
from symposia.client.embedded import EmbeddedServer
from symposia.config.settings import load_settings
from symposia.models.sessions.agent_queues import AgentQueues
from symposia.models.text.ids import new_id
from symposia.reviews.state.queues import DeliveryQueue
from symposia.reviews.values.runs import DeliveryJob
from symposia.state.presence import WorkerPresence, WorkerRoute
from symposia.state.redis.connect import connect
from symposia.state.redis.keys import ARCHIVE_QUEUE, REVIEWS_DUE
from symposia.state.redis.readers import server_ms
from symposia.state.sessions.index import SessionIndex
from symposia.state.webhooks import DeliveryState, WebhookStore
from symposia.state.worker_routes import AwaitedAgents
from symposia.workers.steps.monitoring import health_file


def findings(terminal: Terminal, subject: str) -> list[dict[str, str]]:
    return [it for it in terminal.call("doctor", "--json").json()["findings"] if it["subject"] == subject]


def test_doctor_exits_with_0_if_all_is_well(busy: Terminal):
    said = busy.call("doctor", "--json").json()
    assert said["ok"]
    assert {it["subject"] for it in said["findings"]} == {
        *(
            "Python",
            "review tools",
            "packages",
            "settings",
            "data",
            "agents",
            "prices",
            "limits",
            "local model",
            "traces",
            "Redis",
            "workers",
            "sessions",
            "reviews",
            "beat",
            "queue",
            "memory",
            "archive",
        )
    }
    (worker,) = findings(busy, "workers")
    assert worker["text"].startswith("w1@live has ")
    assert {"echo", "gated", "local", "noop"} <= set(worker["text"].removeprefix("w1@live has ").split(", "))
    report = busy.call("doctor")
    assert (report.code, report.err) == (0, "")
    assert "✓ workers      w1@live" in report.out


def test_missing_redis_is_named_without_its_password(bare: Terminal):
    bare.settings["redis_url"] = "redis://:hush-hush@127.0.0.1:1/0"
    said = bare.call("doctor")
    assert said.code == 4
    assert "✗ Redis        redis://:***@127.0.0.1:1/0 does not answer: " in said.out
    assert "start it, or change SYMPOSIA_REDIS_URL" in said.out
    assert "hush-hush" not in said.out + said.err


def test_doctor_reports_missing_redis_permissions(terminal: Terminal, redis_url: str):
    name = f"curious-{new_id()}"
    with connect(redis_url) as client:
        client.execute_command("ACL", "SETUSER", name, "on", ">hush-hush", "+@connection", "+info")
        try:
            address = redis_url.rpartition("@")[2]
            terminal.settings["redis_url"] = f"redis://{name}:hush-hush@{address}"
            said = terminal.call("doctor", "--json").json()
        finally:
            client.acl_deluser(name)
    *_, refused = told = [it for it in said["findings"] if it["subject"] == "Redis"]
    assert "answers, version" in told[0]["text"]
    assert (refused["grade"], "answered, but a later command failed: " in refused["text"]) == ("bad", True)
    assert "no permissions" in refused["text"]
    assert "does not answer" not in str(said)
    assert "hush-hush" not in str(said)


def test_without_a_worker_sessions_cannot_run(terminal: Terminal):
    assert terminal.call("doctor").code == 4
    (finding,) = findings(terminal, "workers")
    assert finding == {
        "subject": "workers",
        "grade": "bad",
        "text": "no worker is running",
        "advice": "start one: symposia worker, or symposia up",
    }


def test_doctor_warns_of_a_server_without_persistence(terminal: Terminal):
    with connect(terminal.settings["redis_url"]) as client:
        client.config_set("maxmemory-policy", "allkeys-lru")
        told = [(it["grade"], it["text"]) for it in findings(terminal, "Redis")]
        client.config_set("maxmemory-policy", "noeviction")
    assert [grade for grade, _ in told] == ["ok", "warning", "warning"]
    assert "no append-only file" in told[1][1]
    assert "maxmemory-policy allkeys-lru" in told[2][1]


@pytest.fixture
def limited(terminal: Terminal) -> Iterator[Redis]:
    """A client of the terminal's server, whose limit of memory is removed afterwards."""
    with connect(terminal.settings["redis_url"]) as client:
        yield client
        client.config_set("maxmemory", "0")


def test_doctor_reports_a_full_server(terminal: Terminal, limited: Redis):
    limited.config_set("maxmemory", "1")
    (full,) = [it for it in findings(terminal, "Redis") if it["grade"] == "bad"]
    assert full["text"].endswith(" of 1 bytes (maxmemory): it refuses writes")
    assert terminal.call("doctor").code == 4


def test_doctor_warns_of_a_nearly_full_server(terminal: Terminal, limited: Redis):
    limited.config_set("maxmemory", str(round(limited.info("memory")["used_memory"] * 1.05)))
    grades = [it["grade"] for it in findings(terminal, "Redis") if "(maxmemory)" in it["text"]]
    assert grades == ["warning"]


def test_doctor_says_that_the_folder_has_no_agents_file(bare: Terminal):
    (warning, _) = findings(bare, "agents")
    assert (warning["grade"], "no agents.toml in" in warning["text"]) == ("warning", True)
    (bare.folder / "agents.toml").write_text("")
    assert len(findings(bare, "agents")) == 1


def test_doctor_accepts_the_embedded_server(bare: Terminal):
    with EmbeddedServer(bare.folder / "data", bound=True):
        assert [it["grade"] for it in findings(bare, "Redis")] == ["ok"]


def test_doctor_finds_code_in_the_working_folder(terminal: Terminal):
    (terminal.folder / "my_agents.py").write_text("def speak(turn):\n    return 'here'\n")
    (terminal.folder / "registry.toml").write_text(
        '[agents.x]\nkind = "python"\ncallable = "my_agents:speak"\n'
    )
    told = terminal.run("doctor", "--json").json()["findings"]
    assert [it["grade"] for it in told if it["subject"] == "agents"] == ["ok"]


def test_tenant_limits_and_costly_agents_are_reported(terminal: Terminal):
    assert findings(terminal, "limits")[0]["text"] == "daily limit of each tenant: none"
    terminal.settings["tenant_daily_tokens"] = "50"
    told, warned = findings(terminal, "limits")
    assert told["text"] == "daily limit of each tenant: 50 tokens"
    assert (warned["grade"], warned["text"].split(" may ")[0]) == ("warning", "a turn of local")


def test_doctor_checks_the_notices_to_people(terminal: Terminal, monkeypatch: pytest.MonkeyPatch):
    assert findings(terminal, "notices") == []
    with Path(terminal.settings["agents_file"]).open("a") as file:
        file.write('\n[people.ann]\nemail = "ann@example.com"\nchat = "CHAT_ANN"\n')
    terminal.settings["public_url"] = "https://symposia.example.com"
    texts = [finding["text"] for finding in findings(terminal, "notices")]
    assert texts[0] == "1 person: ann"
    missing = ("people.ann: CHAT_ANN", "NOTICES_SECRET", "notices_from", "NOTICES_SMTP_URL")
    assert [text.partition(": must be set")[0] for text in texts[1:]] == list(missing)
    monkeypatch.setenv("CHAT_ANN", "https://hooks.example.com/secret")
    monkeypatch.setenv("NOTICES_SECRET", "sixteen characters")
    terminal.settings["notices_from"] = "symposia@example.com"
    with closing(SmtpSink()) as mail:
        monkeypatch.setenv("NOTICES_SMTP_URL", mail.url)
        assert [finding["grade"] for finding in findings(terminal, "notices")] == ["ok"]
    [_, unreachable] = findings(terminal, "notices")
    assert unreachable["text"].startswith("127.0.0.1 does not answer: ")


def test_doctor_warns_of_unexportable_traces(terminal: Terminal, monkeypatch):
    assert findings(terminal, "traces")[0]["grade"] == "ok"
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "unknown")
    (warned,) = findings(terminal, "traces")
    assert warned["grade"] == "warning"
    assert warned["text"].startswith("not exported: the exporter 'unknown' is not installed")
    assert warned["advice"] == "pip install 'symposia[otel]'"


def test_doctor_warns_of_a_worker_without_a_heartbeat(terminal: Terminal):
    with connect(terminal.settings["redis_url"]) as client:
        WorkerPresence(client).announce("w1@here", ["echo"])
    (told,) = [it for it in findings(terminal, "workers") if it["grade"] == "warning"]
    assert "no heartbeat process beside w1@here: if killed, turns wait" in told["text"]


def test_doctor_warns_of_workers_with_different_agents(terminal: Terminal):
    with connect(terminal.settings["redis_url"]) as client:
        book = WorkerPresence(client)
        book.announce("w1@here", ["coder", "echo"], process="w1@here/1-a")
        book.announce("w2@here", ["echo"], process="w2@here/2-b")
    told = findings(terminal, "workers")
    assert [it["grade"] for it in told] == ["ok", "ok", "warning"]
    assert told[2]["text"] == "not every worker has coder: their turns go to the workers that have them"


def test_doctor_names_agents_that_no_worker_knows(terminal: Terminal):
    with connect(terminal.settings["redis_url"]) as client:
        AwaitedAgents(client).add("alpha", "x", now_ms=server_ms(client))
    warned = findings(terminal, "agents")[-1]
    assert warned["grade"] == "warning"
    assert warned["text"] == "no worker knows agent alpha: 1 session waits for it"


def test_doctor_names_queues_that_no_worker_consumes(terminal: Terminal):
    with connect(terminal.settings["redis_url"]) as client:
        route = WorkerRoute(
            unable=("alpha",), queues=AgentQueues(by_agent={"alpha": "gpu"}), unserved=("alpha",)
        )
        WorkerPresence(client).announce("w1@here", ["alpha"], process="w1@here/1-a", route=route)
    (warned,) = findings(terminal, "queues")
    assert (warned["grade"], warned["text"]) == ("warning", "no worker of queue gpu knows agent alpha")


def test_doctor_checks_a_separate_broker(terminal: Terminal):
    assert findings(terminal, "broker") == []
    for url in ("redis://:hush-hush@127.0.0.1:1/0", "amqp://somebody:hush-hush@127.0.0.1:1//"):
        terminal.settings["broker_url"] = url
        (finding,) = findings(terminal, "broker")
        assert finding["grade"] == "bad"
        assert finding["text"].startswith(f"{url.replace('hush-hush', '***')}: ")
        assert "hush-hush" not in str(finding)
    terminal.settings["broker_url"] = terminal.settings["redis_url"].replace("/0", "/1")
    assert [it["grade"] for it in findings(terminal, "broker")] == ["ok"]


def test_destinations_and_failures_are_reported(terminal: Terminal):
    assert findings(terminal, "deliveries") == []
    file = terminal.folder / "deliveries.toml"
    shelf = f'[shelf]\nkind = "folder"\nfolder = "{terminal.folder}"\n'
    file.write_text(f'{shelf}[board]\nkind = "webhook"\nurl = "https://x.example"\nsecret_env = "NOWHERE"\n')
    terminal.settings["deliveries_file"] = str(file)
    with connect(terminal.settings["redis_url"]) as client:
        errand = DeliveryJob(run=new_id(), to="board", formats=())
        DeliveryQueue(client).give_up(errand, "x.example answers 410")
    told = [(it["grade"], it["text"]) for it in findings(terminal, "deliveries")]
    assert told[:2] == [
        ("ok", "destinations: board, shelf; 0 pending reports"),
        ("warning", "[board]: environment variable NOWHERE is not set"),
    ]
    assert told[2][1].endswith(f"board, review {errand.run}: x.example answers 410")
    file.write_text("[shelf]\n")
    ((grade, text),) = [(it["grade"], it["text"]) for it in findings(terminal, "deliveries")]
    assert (grade, "deliveries.toml.shelf" in text) == ("warning", True)


def test_webhooks_and_failures_are_reported(terminal: Terminal):
    assert findings(terminal, "webhooks") == []
    file = terminal.folder / "webhooks.toml"
    file.write_text(
        '[webhooks.ops]\nurl = "https://x.example"\nevents = ["session.ended"]\nsecret_env = "NOWHERE"\n'
        '[hooks.shop]\nrepository = "example/shop"\nreview = "pulls"\nsecret_env = "NOWHERE"\n'
    )
    terminal.settings["webhooks_file"] = str(file)
    with connect(terminal.settings["redis_url"]) as client:
        store = WebhookStore(client)
        store.add("1f2e3d4c5b", webhook="ops", event="session.ended", subject="s", body="{}")
        (delivery,) = store.deliveries()
        store.end_attempt(delivery, DeliveryState.FAILED, error="x.example answered HTTP 503")
    assert [(it["grade"], it["text"]) for it in findings(terminal, "webhooks")] == [
        ("ok", "outgoing: ops; incoming: shop; 0 pending deliveries"),
        ("warning", "[webhooks.ops]: environment variable NOWHERE is not set"),
        ("warning", "[hooks.shop]: environment variable NOWHERE is not set"),
        ("warning", "delivery of session.ended to ops failed: x.example answered HTTP 503"),
    ]
    listed = terminal.run("webhook", "deliveries", "ops", "--failed")
    assert "1f2e3d4c5b  ops  session.ended  s  failed, 1 attempts: x.example answered HTTP 503" in listed.out
    assert "1f2e3d4c5b is queued" in terminal.run("webhook", "send", "ops", "1f2e").out
    (webhook,) = terminal.run("webhook", "list", "--json").json()
    assert (webhook["name"], webhook["waiting"], webhook["failed"]) == ("ops", 1, 0)


@pytest.mark.leaves_keys
def test_archive_queue_is_reported(terminal: Terminal):
    terminal.settings["archive"] = "true"
    told = findings(terminal, "archive")[0]
    assert (told["grade"], told["counts"]) == ("ok", {"owed": 0, "late": 0})
    with connect(terminal.settings["redis_url"]) as client:
        index = SessionIndex(client)
        for name in ("late", "soon"):
            index.add_session(name, look_in_ms=60_000, archive_in_ms=0)
        client.zadd(ARCHIVE_QUEUE, {"late": 0})
    told = findings(terminal, "archive")[0]
    assert (told["grade"], told["counts"]) == ("warning", {"owed": 2, "late": 1})
    assert told["text"].startswith("1 of 2 sessions in the archive queue are late")
    assert told["advice"] == "start a worker that can reach the database"


def test_doctor_warns_of_an_archive_open_to_others(terminal: Terminal, tmp_path: Path):
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o755)
    file = tmp_path / "open" / "archive.sqlite3"
    terminal.settings |= {"archive": "true", "database_url": f"sqlite:///{file}"}
    file.touch(mode=0o644)
    _, there, folder = findings(terminal, "archive")
    assert (there["grade"], folder["grade"]) == ("ok", "warning")
    assert folder["text"] == f"other users have permissions on {file.parent} (mode 0755)"
    assert folder["advice"].startswith(f"chmod go= '{file.parent}', or ")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_unwritten_archive_is_no_problem(terminal: Terminal):
    terminal.settings["archive"] = "true"
    told = findings(terminal, "archive")[1]
    assert (told["grade"], told["advice"]) == ("ok", "")
    assert told["text"].endswith("archive.sqlite3, created when the first session is archived")


@pytest.mark.leaves_keys
def test_unattended_sessions_are_reported(terminal: Terminal, pair_file, monkeypatch):
    monkeypatch.setattr("symposia.cli.doctor.checks.OVERDUE_MS", -3_600_000)
    assert [it["text"] for it in findings(terminal, "sessions")] == ["0 unfinished"]
    assert terminal.call("submit", pair_file).code == 0
    told, waiting = findings(terminal, "sessions")
    assert (told["grade"], told["text"].split(":")[0]) == (
        "warning",
        "1 of 1 unfinished sessions are overdue",
    )
    assert (waiting["text"], waiting["counts"]) == ("1 session: no worker", {"worker": 1})
    assert waiting["advice"] == "to see why: symposia list --attention worker"


@pytest.mark.leaves_keys
def test_unattended_reviews_are_reported(terminal: Terminal):
    assert [it["text"] for it in findings(terminal, "reviews")] == ["0 unfinished"]
    with connect(terminal.settings["redis_url"]) as client:
        client.zadd(REVIEWS_DUE, {"late": 0, "soon": 1e15})
    (told,) = findings(terminal, "reviews")
    assert told["grade"] == "warning"
    assert told["text"] == "1 of 2 unfinished reviews are overdue: no worker processes them"


@pytest.mark.long
def test_worker_of_this_host_is_healthy(terminal: Terminal):
    worker = terminal.start("worker", "--name", "health@%h", "--processes", "1")
    until(lambda: terminal.run("doctor", "--worker").code == 0, what="a healthy worker")
    (found,) = terminal.call("doctor", "--worker", "--json").json()["findings"]
    assert found["text"].startswith(f"health@{socket.gethostname()} announced itself")
    file = health_file(Path(terminal.settings["data_dir"]))
    until(file.exists, what="the file of health checks")
    os.utime(file, (0, 0))  # as of a worker that hangs
    until(lambda: file.stat().st_mtime, what="the worker touches it again")
    worker.interrupt().ended()
    assert not file.exists()
    assert terminal.run("doctor", "--worker").code == 4


def test_without_a_worker_of_this_host_the_check_fails(terminal: Terminal, redis_url: str):
    with connect(redis_url) as client:
        WorkerPresence(client).announce("celery@elsewhere", ["echo"])
        said = terminal.run("doctor", "--worker")
        WorkerPresence(client).leave("celery@elsewhere")
    assert said.code == 4
    assert "has announced itself within 30 s" in said.out


def test_worker_check_fails_without_redis(bare: Terminal):
    bare.settings["redis_url"] = "redis://127.0.0.1:1/0"
    said = bare.run("doctor", "--worker")
    assert said.code == 4
    assert "does not answer" in said.out


BATCHES = """
[house]
mode = "round_robin"
purpose = "Review it."
batch_api = true
seats = [{name = "reviewer", agent = "mine", model = true}]
"""


@pytest.mark.parametrize(("model", "is_good"), [("openai:stub-model", True), ("groq:stub-model", False)])
def test_doctor_checks_panels_with_batch_apis(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: str, is_good: bool
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "panels.toml").write_text(BATCHES)
    (tmp_path / "agents.toml").write_text(f'[agents.mine]\nkind = "llm"\nmodel = "{model}"\n')
    results = check_agents(load_settings(agents_file=tmp_path / "agents.toml"))
    (result,) = [result for result in results if result.subject == "batch APIs"]
    assert (result.grade is Grade.GOOD) is is_good, result.text
    assert "panel house" in result.text
