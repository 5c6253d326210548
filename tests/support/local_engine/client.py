"""A Docker engine without Docker: what a DockerClient offers, on processes of this machine.

pytest-celery drives its brokers and workers through pytest-docker-tools, and that knows an engine by
one fixture: `docker_client`. Handed this instead, its public API works where no engine is.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

from docker.errors import NotFound

from local_engine.container import LocalContainer, Order


@dataclass(frozen=True)
class LocalImage:
    """Nothing but a name: everything is installed already."""

    id: str


@dataclass(frozen=True)
class LocalNetwork:
    """Nothing but a name: everybody is on loopback."""

    name: str

    def remove(self) -> None:
        """There is nothing to remove."""


@dataclass(frozen=True)
class LocalVolume:
    """A folder."""

    name: str
    folder: Path

    def remove(self, force: bool = False) -> None:
        shutil.rmtree(self.folder, ignore_errors=force)


class Images:
    def build(self, *, path: str, tag: str = "", **_options: Any) -> tuple[LocalImage, Iterable[object]]:
        return LocalImage(tag or path), ()


class Networks:
    def create(self, name: str, **_options: Any) -> LocalNetwork:
        return LocalNetwork(name)


@dataclass
class Volumes:
    folder: Path
    made: dict[str, LocalVolume] = field(default_factory=dict)

    def create(self, name: str, **_options: Any) -> LocalVolume:
        volume = self.made[name] = LocalVolume(name, self.folder / name)
        volume.folder.mkdir(parents=True)
        return volume


@dataclass
class Containers:
    folder: Path
    volumes: Volumes
    made: list[LocalContainer] = field(default_factory=list)

    def create(
        self,
        image: str,
        *,
        command: Sequence[str] = (),
        environment: Mapping[str, str] | None = None,
        network: str = "",
        ports: Mapping[str, object] | None = None,
        volumes: Mapping[str, Mapping[str, str]] | None = None,
        labels: Mapping[str, str] | None = None,
    ) -> LocalContainer:
        folder = self.folder / uuid4().hex
        folder.mkdir(parents=True)
        mounts = {it["bind"]: self.volumes.made[name].folder for name, it in (volumes or {}).items()}
        order = Order(image, command, environment or {}, network, tuple(ports or ()), labels or {}, mounts)
        container = LocalContainer(order, folder=folder)
        self.made.append(container)
        return container

    def run(self, image: str, **order: Any) -> LocalContainer:
        order.pop("detach", None)  # a process always is
        container = self.create(image, **order)
        container.start()
        return container

    def list(self, **_options: Any) -> list[LocalContainer]:
        return [container for container in self.made if container.status == "running"]

    def get(self, name: str) -> LocalContainer:
        for container in self.made:
            if name in (container.name, container.id):
                return container
        raise NotFound(f"no container {name!r}")


class LocalEngine:
    """A replacement of docker-py's DockerClient; all its containers are in `folder`."""

    def __init__(self, folder: Path) -> None:
        self.images = Images()
        self.networks = Networks()
        self.volumes = Volumes(folder / "volumes")
        self.containers = Containers(folder / "containers", self.volumes)

    def close(self) -> None:
        """Stop everything that still runs."""
        for container in self.containers.made:
            container.remove(force=True)
