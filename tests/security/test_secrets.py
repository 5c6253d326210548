"""No secret of a worker's environment appears in anything it writes, or that is shown of it."""

from __future__ import annotations

import logging
import os
import subprocess
import sys

import psutil
import pytest

from checks.everything_kept import everything_kept
from live import result_of
from processes.gone import command_of
from scaling import patient
from symposia import run_local_sync
from symposia.cli.app import build_app
from symposia.cli.common.exit_codes import run_command_line as run_guarded
from symposia.client import Client
from symposia.config.secrets import KnownSecrets, known_secrets
from symposia.models.sessions.options import AfterRetries
from symposia.state.redis.connect import connect
from symposia.workers.logs import Redaction
from symposia.workers.worker_app import create_worker_app


@pytest.fixture
def raw_content(guarded):
    """What Redis holds, read as bytes and uncompressed."""

    def read() -> str:
        with connect(guarded.settings.redis_url.get_secret_value()) as client:
            return "\n".join(everything_kept(client))

    return read


@pytest.mark.long
def test_agent_that_prints_its_environment_is_redacted(guarded, raw_content):
    policy = {"attempts": 2, "backoff_s": 0, "then": AfterRetries.SKIP}
    job = guarded.submit("telltale", "model", stop={"max_rounds": 1}, policy=policy)
    result_of(job)
    errors = [e.payload["result"].get("error") for e in job.events() if e.event_type == "MAPTurnCompleted"]
    assert "no luck with" in str(errors)
    told = "\n".join((raw_content(), guarded.worker.log(), *map(str, job.events()), job.graph("text")))
    assert [secret for secret in guarded.secrets if secret in told] == []


@pytest.mark.parametrize(
    "command",
    [
        ("report",),
        ("inspect", "conf", "--timeout", "10"),
        pytest.param(("inspect", "stats", "--timeout", "10"), marks=pytest.mark.long),
    ],
    ids=" ".join,
)
@pytest.mark.long
def test_celery_commands_print_no_password(guarded, command):
    done = subprocess.run(
        [sys.executable, "-m", "celery", "-A", "symposia.workers", *command],
        env={**os.environ, **guarded.environment},
        cwd=guarded.folder,
        capture_output=True,
        text=True,
        timeout=patient(50),
        check=False,
    )
    assert guarded.settings.redis_url.get_secret_value().rpartition(":")[2][:5] in done.stdout + done.stderr
    assert [secret for secret in guarded.secrets if secret in done.stdout + done.stderr] == []


@pytest.mark.parametrize(
    "command", [("doctor",), ("doctor", "--json"), ("list", "--json"), ("show", "0" * 8)]
)
def test_command_line_prints_no_password(guarded, command, monkeypatch, capsys):
    for name, value in guarded.environment.items():
        monkeypatch.setenv(name, value)
    run_guarded(build_app(command), command)
    said = "".join(capsys.readouterr())
    assert said
    assert [secret for secret in guarded.secrets if secret in said] == []


def test_wrong_password_error_does_not_print_it(guarded, monkeypatch, capsys):
    monkeypatch.setenv("SYMPOSIA_REDIS_URL", guarded.environment["SYMPOSIA_REDIS_URL"] + "-and-more")
    assert run_guarded(build_app(["list"]), ("list",)) == 4
    said = "".join(capsys.readouterr())
    assert "does not answer" in said
    assert [secret for secret in guarded.secrets if secret in said] == []


def test_repr_has_no_password(guarded):
    client, app = Client(guarded.settings), create_worker_app(guarded.settings)
    told = " ".join(
        map(
            repr,
            (
                guarded.settings,
                client,
                client._installation.sessions.workers,
                app,
                guarded.submit("echo", stop={"max_turns": 1}),
            ),
        )
    )
    assert guarded.password not in told
    assert guarded.password not in app.conf.humanize(with_defaults=True, censored=True)


def test_process_arguments_have_no_secret(guarded):
    family = [psutil.Process(), *psutil.Process().children(recursive=True)]
    arguments = " ".join(" ".join(command_of(process)) for process in family)
    assert "symposia.workers" in arguments
    assert [secret for secret in guarded.secrets if secret in arguments] == []


_READ = """
import os, subprocess, sys
from symposia.agents.programs.process import hide_environment
if sys.argv[1] == "hidden":
    hide_environment()
subprocess.run(["cat", f"/proc/{os.getpid()}/environ"])
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux hides the environment of a process")
@pytest.mark.parametrize(("state", "seen"), [("shown", True), ("hidden", False)])
def test_program_cannot_read_the_environment_of_its_parent(tmp_path, state, seen):
    """Root may read any process, so the test uses another user if it runs as root."""
    user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] if os.geteuid() == 0 else []
    environment = {**os.environ, "HOUSE": "hunter2x", "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [*user, sys.executable, "-c", _READ, state],
        env=environment,
        capture_output=True,
        cwd="/",
        check=False,
    )
    if b"Traceback" in done.stderr or (seen and done.returncode):
        pytest.skip("this user cannot run the interpreter")
    assert (b"hunter2x" in done.stdout) is seen


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux hides the environment of a process")
def test_workers_hide_their_environment(guarded):
    result = result_of(guarded.submit("dumpable", stop={"max_turns": 1}))
    assert result.text == "0"


def test_messages_and_tracebacks_are_redacted_in_logs():
    redaction = Redaction(["hunter2"])
    log, record = logging.getLogger("redacted"), None
    try:
        raise ValueError("hunter2 in redis://:other@host/0")
    except ValueError as error:
        record = log.makeRecord("n", logging.INFO, "f", 1, "%s at %s", ("hunter2", error), sys.exc_info())
    assert redaction.filter(record)
    line = logging.Formatter("%(message)s").format(record)
    assert "ValueError: *** in redis://:***@host/0" in line
    assert "hunter2" not in line
    assert "other" not in line


def test_secrets_are_known_from_variables_and_urls(monkeypatch):
    for name, value in {
        "X_API_KEY": "value-1",
        "TOKEN": "value-2",
        "MONKEY": "value-3",
        "A_SECRET": "abc",
        "FROM_A_FILE_PASSWORD": "value-4\n",
    }.items():
        monkeypatch.setenv(name, value)
    found = known_secrets(["redis://:hunt%2Fer@host/0", "redis://host/0"])
    assert {"value-1", "value-2", "value-4", "hunt%2Fer", "hunt/er"} <= set(found)
    assert not {"value-3", "abc"} & set(found)


def test_secrets_named_by_files_are_known(monkeypatch, tmp_path):
    """Variables with any name, also those of a file that changes while a worker runs."""
    agents, deliveries = tmp_path / "agents.toml", tmp_path / "deliveries.toml"
    for name in ("HOUSE", "BOARD", "LATER"):
        monkeypatch.setenv(name, f"value of {name}")
    secrets = KnownSecrets([], [agents, deliveries])
    assert "value of HOUSE" not in list(secrets)
    agents.write_text('[models.m]\napi_key_env = "HOUSE"\n')
    deliveries.write_text("broken = [\n{ secret_env = 'BOARD' }")
    redaction = Redaction(secrets)
    assert redaction.redact_text("value of HOUSE, value of BOARD") == "***, ***"
    agents.write_text('[models.m]\n"api_key_env" = "LATER"\n')
    assert redaction.redact_text("value of HOUSE, value of LATER") == "***, ***"


def test_key_of_any_name_is_not_in_an_agents_error(monkeypatch, tmp_path, caplog):
    def ada(turn):
        raise ValueError(f"the server refused {os.environ['HOUSE']}")

    (tmp_path / "agents.toml").write_text(
        '[models.m]\nmodel = "x"\nbase_url = "http://127.0.0.1:9/v1"\napi_key_env = "HOUSE"\n'
    )
    monkeypatch.setenv("SYMPOSIA_AGENTS_FILE", str(tmp_path / "agents.toml"))
    monkeypatch.setenv("SYMPOSIA_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("HOUSE", "hunter2x")
    collab = {"title": "t", "purpose": "p", "mode": "round_robin"}
    result = run_local_sync(collab, agents={"ada": ada}, policy={"attempts": 1}, timeout_s=patient(30))
    events = " ".join(map(str, result.collab.events))
    assert "the server refused ***" in events + result.detail
    assert "hunter2x" not in events + result.detail + caplog.text
