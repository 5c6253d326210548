"""The fork server of `symposia up`: its forks are like processes of `python -m`, and share its memory."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from live import until
from processes.gone import is_gone
from scaling import patient

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux forks the services")

#: A program with one thread that runs a command in a fork, as `symposia up` does; it prints what it sees of the fork.
PROGRAM = """
import json, os, sys, time
from symposia.workers.local.fork_server import start_fork_server
server = start_fork_server(["symposia.models.protocol.collab"])
folder, *arguments = sys.argv[1:]
sys.path.insert(0, "/nowhere")
process = server.start([sys.executable, "-m", *arguments], {**os.environ, "GIVEN": "it", "PYTHONPATH": ""})
print(json.dumps([server._pid, process.pid]), flush=True)
for line in process.stdout:
    print(line, end="", flush=True)
while process.poll() is None:
    time.sleep(0.01)
print(json.dumps(process.poll()), flush=True)
server.close()
"""
CHILD = """
import os, sys, time
print(sys.argv[1:], os.environ["GIVEN"], "SECRET" in os.environ, "symposia.models.protocol.collab" in sys.modules, flush=True)
{then}
"""


@pytest.fixture
def start(tmp_path: Path):
    """Start the program, whose fork runs a module with this last line."""
    started: list[subprocess.Popen[str]] = []

    def run(then: str) -> subprocess.Popen[str]:
        (tmp_path / "child.py").write_text(CHILD.format(then=then))
        command = [sys.executable, "-c", PROGRAM, str(tmp_path), "child", "--name=one", "two"]
        process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True)
        started.append(process)
        return process

    yield run
    for process in started:
        process.kill()
        process.communicate(timeout=patient(10))


@pytest.mark.parametrize(
    ("then", "code"),
    [
        ("import atexit; atexit.register(print, 'last')", 0),
        ("import atexit; atexit.register(print, 'last'); sys.exit(3)", 3),
        ("os.kill(os.getpid(), 9)", -signal.SIGKILL),
        ("raise ValueError('why')", 1),
    ],
)
def test_fork_runs_as_a_process_of_its_own(start, then, code):
    out, _ = start(then).communicate(timeout=patient(60))
    _, said, *more = out.splitlines()
    assert said == "['--name=one', 'two'] it False True"
    assert json.loads(more[-1]) == code
    assert ("last" in more) == ("atexit" in then)
    assert ("ValueError: why" in more) == ("why" in then)


@pytest.mark.parametrize("victim", ["parent", "server"])
def test_fork_ends_with_its_parents(start, victim):
    program = start("time.sleep(600)")
    server, fork = map(psutil.Process, json.loads(program.stdout.readline()))
    program.stdout.readline()
    assert [part for part in fork.cmdline() if "-m child --name=one two" in part]
    memory = fork.memory_full_info()
    assert memory.uss < memory.rss / 2
    (program if victim == "parent" else server).kill()
    until(lambda: is_gone(fork) and is_gone(server), what="both have ended")
    if victim == "server":
        assert program.communicate(timeout=patient(10))[0].split() == [str(-signal.SIGKILL)]


def test_signal_to_all_processes_ends_no_fork_server(start):
    """As from a service manager that stops a control group: the services end by themselves."""
    handler = "signal.signal(15, lambda *_: (time.sleep(0.3), print('done'), sys.exit(0)))"
    program = start(f"import signal; {handler}; print('ready', flush=True); time.sleep(600)")
    server, fork = json.loads(program.stdout.readline())
    assert [program.stdout.readline().strip() for _ in range(2)][1] == "ready"
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
        os.kill(server, number)
    os.kill(fork, signal.SIGTERM)
    assert program.communicate(timeout=patient(20))[0].split() == ["done", "0"]


def test_fork_has_no_handler_of_the_log_of_its_parent(start, tmp_path):
    then = "import logging; logging.getLogger('symposia').warning('once'); print(sys.argv[0], sys.excepthook)"
    text = (tmp_path / "parent.py").as_posix()
    Path(text).write_text(
        PROGRAM.replace("server = start", "import logging\nlogging.basicConfig()\nserver = start")
    )
    (tmp_path / "child.py").write_text(CHILD.format(then=then))
    command = [sys.executable, text, str(tmp_path), "child"]
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, timeout=patient(60), check=True
    )
    assert done.stdout.count("once") == 1
    assert "built-in function excepthook" in done.stdout


def test_services_import_no_library_of_models_or_signatures():
    """What is imported before the forks is memory of each of them."""
    code = (
        "import sys; from importlib import import_module\n"
        "from symposia.workers.local.service_modules import modules_of\n"
        "for name in modules_of(): import_module(name)\n"
        "print(*sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=patient(60),
        check=True,
        env=os.environ,
    )
    unused = {
        *(
            "a2a",
            "anthropic",
            "cryptography.hazmat",
            "google.genai",
            "jwt",
            "mcp",
            "openai",
            "prompt_toolkit",
            "pydantic_ai",
        ),
        *("alembic", "bandit", "tree_sitter"),
    }
    assert unused & set(done.stdout.split()) == set()
