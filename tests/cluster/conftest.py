"""Clusters of pytest-celery: Valkey, and workers of Celery's own or of this project."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import docker
import pytest
from celery import Celery, _state
from pytest_celery import (
    CeleryBackendCluster,
    CeleryBrokerCluster,
    CeleryTestWorker,
    CeleryWorkerCluster,
    CeleryWorkerContainer,
    RedisContainer,
    RedisTestBackend,
    RedisTestBroker,
)
from pytest_celery.vendors.worker.defaults import DEFAULT_WORKER_VOLUME
from pytest_docker_tools import build, container, fxtr, volume

import scaling
from live import REGISTRY
from local_engine.client import LocalEngine
from stub_agents import live as live_agents

ROOT = Path(__file__).parents[2]
TIMEOUT_S = 60
#: Where workers of this project see the agents of the tests.
AGENTS = "/agents"


@pytest.fixture(scope="session")
def docker_client(cluster_engine: docker.DockerClient | LocalEngine) -> docker.DockerClient | LocalEngine:
    """The one fixture through which everything of pytest-celery is started."""
    return cluster_engine


@pytest.fixture
def celery_broker_cluster(celery_redis_broker: RedisTestBroker) -> CeleryBrokerCluster:
    """Redis alone: the plugin would run every test once more on RabbitMQ."""
    return CeleryBrokerCluster(celery_redis_broker)


@pytest.fixture
def celery_backend_cluster(celery_redis_backend: RedisTestBackend) -> CeleryBackendCluster:
    return CeleryBackendCluster(celery_redis_backend)


@pytest.fixture
def default_redis_broker_command() -> list[str]:
    """A broker that keeps its messages over a restart."""
    return RedisContainer.command("--appendonly", "yes", "--appendfsync", "always")


@pytest.fixture
def default_worker_command(default_worker_container_cls: type[CeleryWorkerContainer]) -> list[str]:
    """Threads, as this project has them; and no asking around for clocks, which takes a second or two."""
    return default_worker_container_cls.command(
        "--without-mingle", "--without-gossip", "--pool=threads", "--concurrency=2"
    )


@pytest.fixture
def celery_setup_app(
    celery_setup_cls: Any, celery_setup_config: Any, celery_setup_name: str
) -> Iterator[Celery]:
    """As in the plugin, but no test after this one meets an app whose broker is gone."""
    before = _state._tls.current_app
    app = celery_setup_cls.create_setup_app(celery_setup_config, celery_setup_name)
    yield app
    app.close()
    _state._set_current_app(before)


second_worker_container = container(
    image="{celery_base_worker_image.id}",
    environment=fxtr("default_worker_env"),
    network="{default_pytest_celery_network.name}",
    volumes={"{default_worker_volume.name}": DEFAULT_WORKER_VOLUME},
    wrapper_class=CeleryWorkerContainer,
    timeout=TIMEOUT_S,
    command=fxtr("default_worker_command"),
)


@pytest.fixture
def two_celery_workers(
    default_worker_container: CeleryWorkerContainer,
    second_worker_container: CeleryWorkerContainer,
    celery_setup_app: Celery,
) -> CeleryWorkerCluster:
    """Two of Celery's own workers."""
    return workers_of(celery_setup_app, default_worker_container, second_worker_container)


class SymposiaContainer(CeleryWorkerContainer):
    """A worker of this project, started as any Celery user would."""

    @classmethod
    def command(cls, *args: str, **_options: Any) -> list[str]:
        return ["celery", "-A", "symposia.workers", "worker", "--loglevel=INFO", "-n", "symposia@%h", *args]

    @classmethod
    def worker_name(cls) -> str:
        return "symposia"

    @classmethod
    def worker_queue(cls) -> str:
        return "symposia"


#: Docker builds the project's own image; a process has it installed.
symposia_image = build(path=str(ROOT), tag="symposia:tests")

#: What the agents of the tests are, where the workers look for it.
agents_volume = volume(
    initial_content={
        "agents.toml": REGISTRY.encode(),
        "stub_agents/live.py": Path(live_agents.__file__).read_bytes(),
        "scaling.py": Path(scaling.__file__).read_bytes(),
    }
)

_SYMPOSIA = {
    "image": "{symposia_image.id}",
    "environment": fxtr("symposia_environment"),
    "network": "{default_pytest_celery_network.name}",
    "volumes": {"{agents_volume.name}": {"bind": AGENTS, "mode": "ro"}},
    "wrapper_class": SymposiaContainer,
    "timeout": TIMEOUT_S,
    "command": SymposiaContainer.command("--without-mingle", "--without-gossip", "--concurrency=4"),
}
first_symposia_container = container(**_SYMPOSIA)
second_symposia_container = container(**_SYMPOSIA)


@pytest.fixture
def symposia_environment(celery_broker_cluster: CeleryBrokerCluster) -> dict[str, str]:
    """The settings of the workers; they recover quickly."""
    return {
        "SYMPOSIA_REDIS_URL": celery_broker_cluster.config()["urls"][0],
        "SYMPOSIA_AGENTS_FILE": f"{AGENTS}/agents.toml",
        "SYMPOSIA_LEASE_S": "3",
        "SYMPOSIA_REDISPATCH_AFTER_S": "2",
        "SYMPOSIA_SWEEP_INTERVAL_S": "0.2",
        "PYTHONPATH": AGENTS,
        "PYTHONUNBUFFERED": "1",
    }


@pytest.fixture
def two_symposia_workers(
    first_symposia_container: SymposiaContainer,
    second_symposia_container: SymposiaContainer,
    celery_setup_app: Celery,
) -> CeleryWorkerCluster:
    """Two of this project's workers."""
    return workers_of(celery_setup_app, first_symposia_container, second_symposia_container)


def workers_of(app: Celery, *containers: CeleryWorkerContainer) -> CeleryWorkerCluster:
    return CeleryWorkerCluster(*(CeleryTestWorker(container, app=app) for container in containers))
