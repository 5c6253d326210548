"""Workers and beats start without the rest of Celery's command line, and take the same options."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from celery.bin.beat import beat
from celery.bin.worker import worker

from live import until
from scaling import patient
from symposia.client.processes import end_with_parent
from symposia.state.presence import WorkerPresence
from symposia.state.redis.connect import connect
from symposia.workers.local.services import worker_command

LOADED = """
import sys
from symposia.workers.__main__ import find_app, run
try:
    run(find_app, sys.argv[1:])
finally:
    print(*sorted({name.partition(".")[0] for name in sys.modules}))
"""


def call(folder: Path, *command: str, **settings: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *command],
        cwd=folder,
        env={**os.environ, "SYMPOSIA_REDIS_URL": "redis://127.0.0.1:1/0", **settings},
        capture_output=True,
        text=True,
        timeout=patient(50),
        check=False,
    )


@pytest.mark.long
@pytest.mark.parametrize(
    "program", [["symposia", "worker"], ["celery", "-A", "symposia.workers", "worker"]], ids="sc"
)
def test_worker_finds_modules_of_its_folder(tmp_path, redis_url, program):
    (tmp_path / "own_agents.py").write_text(
        "import symposia\n\n@symposia.agent('own')\ndef own(turn):\n    return 'x'\n"
    )
    (tmp_path / "agents.toml").write_text('modules = ["own_agents"]\n')
    environment = {**os.environ, "SYMPOSIA_REDIS_URL": redis_url, "SYMPOSIA_WORKER_PROCESSES": "1"}
    command = [str(Path(sys.executable).with_name(program[0])), *program[1:]]
    process = subprocess.Popen(command, cwd=tmp_path, env=environment, stderr=subprocess.DEVNULL)
    try:
        with connect(redis_url) as client:
            (entry,) = until(WorkerPresence(client).list_alive, timeout_s=40, what="the worker is ready")
        assert "own" in entry.agents
    finally:
        process.terminate()
        process.wait(patient(20))


@pytest.mark.parametrize("command", [worker, beat], ids=["worker", "beat"])
def test_program_takes_celery_options(tmp_path, command):
    said = call(tmp_path, "-c", LOADED, command.name, "--help")
    assert said.returncode == 0, said.stderr
    options = {option for param in command.params for option in param.opts} - {"-D", "--detach"}
    assert {option for option in options if not re.search(rf"(^|\s){option}\b", said.stdout)} == set()
    loaded = set(said.stdout.splitlines()[-1].split())
    assert {"celery", "symposia"} <= loaded
    assert not {"flower", "tornado", "prompt_toolkit", "click_repl"} & loaded


@pytest.mark.parametrize(
    ("arguments", "settings", "told"),
    [
        (["worker"], {"SYMPOSIA_LEASE_S": "soon"}, "SYMPOSIA_LEASE_S: must be"),
        (["worker", "--dance"], {}, "No such option"),
        (["worker", "--detach"], {}, "No such option"),
        (["worker", "--pool"], {}, "requires an argument"),
        (["shell"], {}, "No such command 'shell'"),
    ],
)
@pytest.mark.long
def test_errors_have_no_traceback(tmp_path, arguments, settings, told):
    said = call(tmp_path, "-m", "symposia.workers", *arguments, **settings)
    assert (said.returncode, said.stdout) == (2, "")
    assert told in said.stderr
    assert "Traceback" not in said.stderr


@pytest.mark.long
def test_beat_without_its_package_names_the_extra(tmp_path):
    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.modules['redbeat'] = None\n")
    said = call(tmp_path, "-m", "symposia.workers", "beat", PYTHONPATH=str(tmp_path))
    assert (said.returncode, said.stdout) == (2, "")
    assert "a beat needs the package celery-redbeat: pip install 'symposia[worker]'" in said.stderr
    assert "Traceback" not in said.stderr


@pytest.mark.timeout(150)
@pytest.mark.parametrize("pool", [None, pytest.param("prefork", marks=pytest.mark.long)])
@pytest.mark.long
def test_worker_restarts_and_stops_on_signals(tmp_path, redis_url, pool):
    log = tmp_path / "log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            end_with_parent(worker_command(concurrency=1, pool=pool), signal.SIGKILL),
            cwd=tmp_path,
            env={**os.environ, "SYMPOSIA_REDIS_URL": redis_url},
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    def is_ready(times: int) -> bool:
        assert process.poll() is None, log.read_text()
        return log.read_text().count(" ready.") == times

    try:
        until(lambda: is_ready(1), timeout_s=40, what="it is there")
        process.send_signal(signal.SIGHUP)
        until(lambda: is_ready(2), timeout_s=40, what="it is there again")
        process.terminate()
        assert process.wait(patient(20)) == 0
    finally:
        process.poll() is None and os.killpg(process.pid, signal.SIGKILL)
        process.wait()
