"""What a session needs to run, put together for as long as somebody needs it."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from pydantic import SecretStr

from ..agents.registry import Registry
from ..agents.seats import LOCAL_MODEL
from ..config.settings import Settings, child_environment
from .services import Program, worker_command

#: What a program prints, by its name.
Heard = Callable[[str, str], None]


def with_server(settings: Settings, url: str) -> Settings:
    """The settings of those who use the server at `url`, for Celery's messages as well unless they go elsewhere."""
    return settings.model_copy(update={"redis_url": SecretStr(url)})


def worker(settings: Settings, name: str, *, heard: Heard, patience_s: float | None = None) -> Program:
    """A Celery worker as a program of its own. `heard` is given its name and every line it prints."""
    return Program(
        name,
        worker_command(name=f"{name}@%h"),
        environment=child_environment(settings),
        heard=lambda line: heard(name, line),
        patience_s=patience_s,
    )


def needs_local_model(registry: Registry, agents: Iterable[str]) -> bool:
    """Whether one of the agents speaks with the local model."""
    wanted = set(agents)
    return any(
        it.name in wanted and it.kind == "llm" and it.what == LOCAL_MODEL for it in registry.describe()
    )
