"""Which engine runs the clusters of pytest-celery: Docker's, or processes of this machine."""

from __future__ import annotations

import gc
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import docker
import pytest
from docker.errors import DockerException
from pytest_docker_tools.exceptions import TimeoutError as DockerTimeout

from local_engine.client import LocalEngine
from scaling import patient

OPTION = "--celery-engine"
_CHOSEN = pytest.StashKey[str]()

#: The modules that took pytest-docker-tools' `wait_for_callable` by its name.
_WAITING = (
    "pytest_celery.api.base",
    "pytest_celery.api.container",
    "pytest_docker_tools.factories.container",
    "pytest_docker_tools.wrappers.container",
)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        OPTION,
        choices=("auto", "docker", "process"),
        default="auto",
        help="what tests of clusters run on: containers, processes, or containers where Docker answers (auto)",
    )


def pytest_configure(config: pytest.Config) -> None:
    asked = config.getoption(OPTION)
    if asked == "docker" and not docker_answers():
        raise pytest.UsageError(f"{OPTION}=docker: no Docker engine answers")
    config.stash[_CHOSEN] = asked if asked != "auto" else "docker" if docker_answers() else "process"


def pytest_report_header(config: pytest.Config) -> str:
    return f"celery engine: {chosen_engine(config)}"


def chosen_engine(config: pytest.Config) -> str:
    """`docker` or `process`."""
    return config.stash[_CHOSEN]


def docker_answers() -> bool:
    with warnings.catch_warnings():
        # docker-py leaves the socket open over which nobody answers.
        warnings.simplefilter("ignore", ResourceWarning)
        try:
            docker.from_env(timeout=2).close()
        except DockerException:
            return False
        finally:
            gc.collect()
    return True


@pytest.fixture(scope="session")
def cluster_engine(
    pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[docker.DockerClient | LocalEngine]:
    """What `docker_client` of pytest-docker-tools is to be where clusters are tested."""
    if chosen_engine(pytestconfig) == "docker":
        client = docker.from_env()
        yield client
        client.close()
        return
    engine = LocalEngine(tmp_path_factory.mktemp("engine"))
    with _made_for_processes():
        yield engine
    engine.close()


@contextmanager
def _made_for_processes() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        # It takes a machine that is a container itself for one on the network of its containers.
        wrappers = import_module("pytest_docker_tools.wrappers.container")
        patch.setattr(wrappers, "tests_inside_container", lambda: False)
        for name in _WAITING:
            patch.setattr(import_module(name), "wait_for_callable", wait_for_callable)
        yield


def wait_for_callable(message: str, func: Callable[[], Any], timeout: float = 30) -> None:
    """As in pytest-docker-tools, which looks once a second: a process is there sooner."""
    timeout = patient(timeout)
    deadline = time.monotonic() + timeout
    while not func():
        if time.monotonic() > deadline:
            raise DockerTimeout(f"{message}: not within {timeout} s")
        time.sleep(0.02)
