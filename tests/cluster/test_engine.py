"""The process engine: its processes end with it and listen where expected."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from docker.errors import NotFound

from live import until
from local_engine.client import LocalEngine
from local_engine.container import LocalContainer
from processes.gone import is_gone
from symposia.client.processes import end_with_parent

pytest_plugins = ["pytester"]
SUPPORT = Path(__file__).parents[1] / "support"

#: Starts a child that would outlive its parent, says so, and waits.
FAMILY = """
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
print("child", child.pid, flush=True)
child.wait()
"""


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[LocalEngine]:
    engine = LocalEngine(tmp_path / "engine")
    yield engine
    engine.close()


def server(engine: LocalEngine) -> LocalContainer:
    container = engine.containers.run(
        "redis:latest", command=["redis-server", "--appendonly", "yes"], ports={"6379/tcp": None}, detach=True
    )
    until(lambda: b"Ready to accept connections" in container.logs(), what="the server is ready")
    return container


def family(engine: LocalEngine) -> tuple[LocalContainer, psutil.Process]:
    container = engine.containers.run("python", command=["python", "-c", FAMILY])
    until(lambda: b"child" in container.logs(), what="the child is there")
    return container, psutil.Process(int(container.logs().split()[-1]))


def test_a_server_keeps_its_port_over_a_restart(engine: LocalEngine):
    container = server(engine)
    before = container.attrs["NetworkSettings"]["Ports"]
    container.kill()
    container.reload()
    assert container.status == "exited"
    container.restart()
    until(lambda: b"Ready to accept connections" in container.logs(), what="the server is ready again")
    assert (container.status, container.attrs["NetworkSettings"]["Ports"]) == ("running", before)


def test_server_container_lists_the_port_of_its_image(engine: LocalEngine):
    container = server(engine)
    code, seen = container.exec_run("cat /proc/net/tcp /proc/net/tcp6")
    assert (code, seen.split()[1], seen.split()[3]) == (0, b"00000000:18EB", b"0A")
    container.kill()
    assert container.exec_run("cat /proc/net/tcp /proc/net/tcp6") == (0, b"")


def test_killing_a_container_kills_all_its_processes(engine: LocalEngine):
    container, child = family(engine)
    container.kill()
    until(lambda: is_gone(child), what="the child is gone")


def test_other_processes_end_with_the_first(engine: LocalEngine):
    container, child = family(engine)
    container.kill("SIGTERM")
    until(lambda: container.reload() or container.status == "exited", what="the container ends")
    until(lambda: is_gone(child), what="the child is gone")


def test_nothing_runs_after_the_engine_is_closed(engine: LocalEngine):
    container, child = family(engine)
    engine.close()
    container.reload()
    assert container.status == "exited"
    until(lambda: is_gone(child), what="the child is gone")


def test_started_programs_end_with_killed_tests(tmp_path: Path):
    code = f"""
import sys; sys.path.insert(0, {str(SUPPORT)!r})
from pathlib import Path
from local_engine.client import LocalEngine
container = LocalEngine(Path({str(tmp_path)!r})).containers.run("python", command=["python", "-c", "import time; time.sleep(600)"])
print(container._process.pid, flush=True)
input()
"""
    tests = subprocess.Popen(
        end_with_parent([sys.executable, "-c", code]),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert tests.stdout is not None
    started = psutil.Process(int(tests.stdout.readline()))
    tests.kill()
    tests.communicate()
    until(lambda: is_gone(started), what="it ends, too")


def test_unknown_container_is_not_found(engine: LocalEngine):
    container = server(engine)
    assert engine.containers.get(container.name) is container
    with pytest.raises(NotFound):
        engine.containers.get("nobody")


@pytest.mark.parametrize("asked", ["auto", "process"])
def test_header_names_the_engine_in_use(pytester: pytest.Pytester, asked: str, monkeypatch):
    monkeypatch.setenv("DOCKER_HOST", "unix:///nobody/listens/here")
    pytester.syspathinsert(SUPPORT)
    told = pytester.runpytest_inprocess("-p", "local_engine.plugin", f"--celery-engine={asked}")
    told.stdout.fnmatch_lines("celery engine: process")


def test_missing_docker_is_reported_at_once(pytester: pytest.Pytester, monkeypatch):
    monkeypatch.setenv("DOCKER_HOST", "unix:///nobody/listens/here")
    pytester.syspathinsert(SUPPORT)
    told = pytester.runpytest_inprocess("-p", "local_engine.plugin", "--celery-engine=docker")
    assert told.ret == pytest.ExitCode.USAGE_ERROR
    told.stderr.fnmatch_lines("*--celery-engine=docker: no Docker engine answers*")
