"""Fixtures of all tests: a real server, a clean environment, and nothing left afterwards."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from hypothesis import settings as hypothesis_settings

from checks.expiry import wrong_keys
from live import until
from processes.fork_server import close_fork_server, fork_server_pids
from processes.gone import command_of, is_gone
from scaling import PATIENCE, patient, scaled_examples
from servers.rabbit import MISSING, Rabbit, own_rabbit, program
from symposia.client.embedded import EmbeddedServer
from symposia.client.in_process.server import stop_idle_server
from symposia.config.sources import ALTERNATIVE_NAMES
from symposia.state.redis.connect import connect

pytest_plugins = ["local_engine.plugin", "protocol.mplp_fixture", "symposia.testing.plugin"]

#: Where the protocol's own files are, and how long tests may take: the only settings the tests themselves take.
TEST_SETTINGS = {
    "SYMPOSIA_MPLP_DIR",
    "SYMPOSIA_SEEDS_DIR",
    "SYMPOSIA_TEST_APP",
    "SYMPOSIA_TEST_EXAMPLES",
    "SYMPOSIA_TEST_PATIENCE",
    "SYMPOSIA_TEST_POOL",
    "SYMPOSIA_TEST_REQUIRED",
    "SYMPOSIA_TEST_SCREENSHOTS",
}

# Tests share the cores with the servers and workers they start: an example has no deadline.
hypothesis_settings.register_profile(
    "symposia", deadline=None, print_blob=True, max_examples=scaled_examples(100)
)
hypothesis_settings.load_profile("symposia")


def stay_on_this_machine(event: str, args: tuple[object, ...]) -> None:
    """An audit hook: no test reaches a model, a registry or anything else beyond loopback."""
    if event == "socket.connect" and isinstance(args[1], tuple):
        host = str(args[1][0])
    elif event == "socket.getaddrinfo":
        host = args[0].decode() if isinstance(args[0], bytes) else str(args[0])
    else:
        return
    if not host.startswith("127.") and host not in {"::1", "localhost", "None", ""}:
        raise RuntimeError(f"a test tried to reach {host!r}; tests stay on this machine")


sys.addaudithook(stay_on_this_machine)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--server",
        type=Path,
        default=None,
        help="the Redis-compatible server program to run the tests on; default: the embedded Valkey",
    )


class FailuresAtOnce:
    """Prints each failure in a line when it happens: a run that does not reach its end lists none."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        reporter = self._config.pluginmanager.get_plugin("terminalreporter")
        if report.failed and reporter is not None:
            reason = (
                getattr(getattr(report.longrepr, "reprcrash", None), "message", None) or report.longreprtext
            )
            reporter.ensure_newline()
            reporter.write_line(
                f"{report.nodeid} ({report.when}): {reason.splitlines()[0] if reason else ''}"
            )


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(FailuresAtOnce(config))


def sharing_group(item: pytest.Item) -> str:
    """Name the tests that share a fixture of a package or module, such as a worker, with this one; '' without one.

    They run in one process, one after another: each process would set up a fixture of its own, and tests of two
    parameters that alternate would set up a new one each time.
    """
    found = [it[-1] for name in item.fixturenames if (it := item._fixtureinfo.name2fixturedefs.get(name))]
    shared = [it for it in found if it.scope in ("package", "module")]
    if not shared:
        return ""
    if any(it.scope == "package" for it in shared):
        return item.nodeid.partition("::")[0].rpartition("/")[0]
    parameters = (getattr(item, "callspec", None) and item.callspec.params) or {}
    chosen = [str(parameters[it.argname]) for it in shared if it.argname in parameters]
    return "-".join([item.nodeid.partition("::")[0], *chosen])


def pytest_itemcollected(item: pytest.Item) -> None:
    # xdist reads the groups before the hooks of this file that are called at the end of the collection.
    if item.get_closest_marker("xdist_group") is None and (group := sharing_group(item)):
        item.add_marker(pytest.mark.xdist_group(group))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if hasattr(
        config, "workerinput"
    ):  # of several: long tests first, so that no process ends long after the others
        items.sort(key=lambda item: item.get_closest_marker("long") is None)
    of_the_run = config.getoption("timeout") or config.getini("timeout")
    for item in items:
        if PATIENCE == 1:
            continue
        marker = item.get_closest_marker("timeout")
        limit = float(marker.args[0] if marker else of_the_run)
        item.add_marker(pytest.mark.timeout(patient(limit)), append=False)


@pytest.fixture
def same_day() -> None:
    """The UTC day, by which tenants' budgets go, does not end within the test."""
    until(lambda: time.time() % 86_400 < 86_380, what="another day")


@pytest.fixture(scope="session", autouse=True)
def nothing_runs_on() -> Iterator[None]:
    """Fails when a process that the tests started is still there at their end, and ends it."""
    yield
    stop_idle_server()
    left = [it for it in psutil.Process().children(recursive=True) if it.pid not in fork_server_pids()]
    described = [f"{child.pid}: {' '.join(command_of(child))}" for child in left if not is_gone(child)]
    for child in left:
        with suppress(psutil.NoSuchProcess):
            child.kill()
    close_fork_server()
    psutil.wait_procs(left, timeout=patient(5))
    assert not described, f"processes left behind: {described}"


@pytest.fixture(scope="session", autouse=True)
def nobodys_settings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Isolate the tests from settings and data of the user."""
    with pytest.MonkeyPatch.context() as environment:
        for name in os.environ.keys() - TEST_SETTINGS:
            if name.startswith("SYMPOSIA_") or name in ALTERNATIVE_NAMES.values():
                environment.delenv(name)
        environment.setenv("SYMPOSIA_DATA_DIR", str(tmp_path_factory.mktemp("data")))
        # Tests of the archive turn it on.
        environment.setenv("SYMPOSIA_ARCHIVE", "false")
        yield


@pytest.fixture(scope="session")
def valkey_server(
    pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[EmbeddedServer]:
    """A real server of this test process's own, in memory only; the kernel ends it with the process."""
    server = EmbeddedServer(
        tmp_path_factory.mktemp("server"), durable=False, bound=True, program=pytestconfig.getoption("server")
    )
    with server:
        yield server


@pytest.fixture
def redis_url(valkey_server: EmbeddedServer) -> str:
    """The URL of a real server with nothing in it."""
    with connect(valkey_server.url) as client:
        client.flushall()
    return valkey_server.url


@pytest.fixture(scope="session")
def rabbit() -> Iterator[Rabbit]:
    """A RabbitMQ node of this test process's own."""
    if (node_program := program()) is None:
        pytest.skip(MISSING)
    with own_rabbit(node_program) as node:
        yield node


@pytest.fixture
def amqp_url(rabbit: Rabbit) -> Iterator[str]:
    """The URL of an empty virtual host of RabbitMQ."""
    with rabbit.virtual_host() as url:
        yield url


@pytest.fixture(autouse=True)
def ended_sessions_expire(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fail a test that leaves a key without a time to live, unless its session is active."""
    if "redis_url" not in request.fixturenames or request.node.get_closest_marker("leaves_keys"):
        yield
        return
    url = request.getfixturevalue("redis_url")
    yield
    wrong = wrong_keys(url)
    assert not wrong, f"keys that never expire, of sessions that do not go on: {wrong}"
