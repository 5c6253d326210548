"""Children: bounded, tied to their parent, and started from a process with threads."""

from __future__ import annotations

import asyncio
import os
import resource
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

import symposia
from live import until
from processes.gone import is_gone
from scaling import patient
from symposia.agents.programs.process import Program, ProgramResult, end_with_parent, run_program, with_limits
from symposia.state.redis.connect import connect

NAP = [sys.executable, "-c", "import time; time.sleep(600)"]


def said_by(argv: list[str]) -> bytes:
    return subprocess.run(argv, capture_output=True, check=True, timeout=patient(20)).stdout


def test_program_keeps_pid_arguments_and_pipes():
    code = "import os, sys; print(os.getpid(), sys.argv[1:], sys.stdin.read())"
    with subprocess.Popen(
        end_with_parent([sys.executable, "-c", code, "--", "-x", "a b", ""]),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as child:
        said, _ = child.communicate("given", timeout=patient(20))
    assert said == f"{child.pid} ['--', '-x', 'a b', ''] given\n"


def test_limits_never_exceed_those_of_the_parent():
    code = "import resource as r; print(r.getrlimit(r.RLIMIT_CPU), r.getrlimit(r.RLIMIT_NOFILE), r.getrlimit(r.RLIMIT_CORE))"
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    asked = {resource.RLIMIT_CPU: 7, resource.RLIMIT_NOFILE: most + 1}
    said = said_by(with_limits([sys.executable, "-c", code], asked))
    assert said.decode().strip() == f"(7, 8) ({most}, {most}) (0, 0)"


def test_signals_that_python_ignores_end_the_program():
    shell = "sed -n 's/^SigIgn:[[:space:]]*//p' /proc/self/status"
    ignored = int(said_by(with_limits(["sh", "-c", shell], {})), 16)
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        assert not ignored & 1 << (number - 1)


@pytest.mark.parametrize(("name", "code"), [("/no/such/program", 127), ("/", 126)])
def test_file_that_is_no_program_fails_as_in_a_shell(name, code):
    done = subprocess.run(
        with_limits([name], {}), capture_output=True, text=True, check=False, timeout=patient(20)
    )
    assert done.returncode == code
    assert done.stderr.startswith(f"{name}: ")
    assert done.stderr.count("\n") == 1


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends a child with its parent")
def test_program_ends_with_its_parent():
    code = f"""
import subprocess, sys
from symposia.agents.programs.process import end_with_parent
print(subprocess.Popen(end_with_parent({NAP!r})).pid, flush=True)
sys.stdin.read()
"""
    command = end_with_parent([sys.executable, "-c", code], signal.SIGKILL)
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        grandchild = psutil.Process(int(parent.stdout.readline()))
        parent.kill()
    until(lambda: is_gone(grandchild), what="it ends")


@pytest.fixture
def crowd(redis_url) -> Iterator[None]:
    """Threads that have a connection each, while one holds the pool's lock for ever."""
    client = connect(redis_url)
    script = client.register_script("return 1")
    client.script_load("return 1")
    over = threading.Event()
    ready = threading.Barrier(5)

    def hold(lock: object) -> None:
        script()
        ready.wait(patient(20))
        with lock:  # type: ignore[attr-defined]
            over.wait()

    threads = [threading.Thread(target=hold, args=(client.connection_pool._lock,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    ready.wait(patient(20))
    yield
    over.set()
    for thread in threads:
        thread.join()


@pytest.mark.parametrize("run_child", ["program", "fork"])
def test_child_does_not_wait_for_parent_locks(crowd, run_child):
    assert {"program": _a_program, "fork": _a_fork}[run_child]() == 0


def _a_program() -> int:
    program = Program([sys.executable, "-c", "pass"], Path("/"), {}, {}, 1_000)

    async def patiently() -> ProgramResult:
        async with asyncio.timeout(20):
            return await run_program(program, b"")

    return asyncio.run(patiently()).code


def _a_fork() -> int:
    pid = os.fork()
    if not pid:
        os._exit(0)
    ended: list[int] = []
    waiter = threading.Thread(target=lambda: ended.append(os.waitpid(pid, 0)[1]), daemon=True)
    waiter.start()
    waiter.join(patient(20))
    if not ended:
        os.kill(pid, signal.SIGKILL)
        waiter.join()
    return ended[0]


def test_no_python_runs_between_fork_and_exec():
    root = Path(symposia.__file__).resolve().parent
    for path in root.rglob("*.py"):
        if ".venv" not in path.parts:
            assert "preexec" + "_fn=" not in path.read_text(), path
