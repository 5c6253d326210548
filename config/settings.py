"""The settings: one frozen value, read from `SYMPOSIA_*` variables by this module only.

All other code gets its settings as arguments, so a test or an embedding program passes them without changing
the environment. `known_secrets` returns the secrets of this process, so that its output can be redacted.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import parse_qsl, unquote, urlsplit

from platformdirs import user_data_path
from pydantic import AfterValidator, BeforeValidator, Field, SecretStr, ValidationError
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from ..models.errors import InvalidInput, invalid_input
from ..models.sessions.subsession_limits import DEEPEST, MAX_DEPTH, MAX_SUBSESSIONS
from ..models.text.paths import ExpandedPath
from ..models.text.redact import ABSENT, without_password
from ..models.text.redis_address import RedisAddress, RedisKind
from . import urls
from .telemetry import exporter_secrets

PREFIX = "SYMPOSIA_"

#: Variable of `metrics_port`.
METRICS_PORT = f"{PREFIX}METRICS_PORT"

#: Variables that are read if the `SYMPOSIA_*` one is not set (dialog state document, section 5).
ALTERNATIVE_NAMES = {
    "redis_url": "REDIS_URL",
    "memory_ttl_s": "DIALOG_STATE_TTL_SECONDS",
    "memory_max_bytes": "DIALOG_STATE_MAX_SIZE_BYTES",
}


def _from_json(value: object) -> object:
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except ValueError:
        raise ValueError('must be JSON, such as {"name": "/a/path"}') from None


#: Paths by the names that schedules and reviews use; JSON in the environment.
NamedPaths = Annotated[
    dict[str, ExpandedPath], NoDecode, BeforeValidator(_from_json), Field(max_length=1_000)
]


def _split(value: object) -> object:
    return [it.strip() for it in value.split(",") if it.strip()] if isinstance(value, str) else value


#: Host names; separated by commas in the environment.
HostNames = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_split), Field(max_length=100)]


def default_data_dir() -> Path:
    """Return the data folder used if none is configured."""
    return user_data_path("symposia")


class Settings(BaseSettings):
    """Settings of an installation. Constructor arguments take precedence over the environment.

    Use `load_settings`, which reports an invalid value in one line. URLs are secrets, because they may
    contain a password: read a URL with `.get_secret_value()`, show it with `without_password`.
    """

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, env_ignore_empty=True, extra="forbid", frozen=True, hide_input_in_errors=True
    )

    #: Redis of the sessions: server, cluster, or Sentinel master. None: the embedded server of `data_dir`.
    redis_url: Annotated[SecretStr, AfterValidator(urls.redis_url)] | None = None
    #: Broker of the task messages. None: `redis_url`; with a cluster it must be set.
    broker_url: Annotated[SecretStr, AfterValidator(urls.broker_url)] | None = None
    #: Folder of Symposia's files on this machine: data of the embedded server, archive, logs.
    data_dir: ExpandedPath = Field(default_factory=default_data_dir)
    #: The agents file. None: `agents.toml` in the working folder, if it exists.
    agents_file: ExpandedPath | None = None

    #: Lease of a turn in seconds, without renewal; a killed worker delays a session by this time.
    lease_s: float = Field(default=30, ge=1, le=3_600)
    #: Seconds between two sweeps of a worker over the due sessions.
    sweep_interval_s: float = Field(default=1, ge=0.1, le=60)
    #: Seconds a planned turn may wait for a worker before its task is sent again.
    redispatch_after_s: float = Field(default=10, ge=1, le=3_600)
    #: Maximum seconds of a turn, unless its participant has another limit.
    turn_timeout_s: float = Field(default=300, ge=1, le=86_400)

    #: Maximum size of a message in bytes (UTF-8).
    max_message_bytes: int = Field(default=1_048_576, ge=1_024, le=67_108_864)
    #: Maximum turns of a session, independent of its stop conditions: an upper bound on the cost.
    max_turns: int = Field(default=10_000, ge=1, le=1_000_000)
    #: Maximum number of sessions above a sub-session.
    max_subsession_depth: int = Field(default=MAX_DEPTH, ge=1, le=DEEPEST)
    #: Maximum number of sub-sessions below one session, those of sub-sessions included.
    max_subsessions: int = Field(default=MAX_SUBSESSIONS, ge=1, le=10_000)
    #: Seconds the live keys of a finished session stay readable.
    retention_s: int = Field(default=604_800, ge=60, le=31_536_000)

    #: Whether sessions are archived in SQL. Their live keys then expire only once the archive has them.
    archive: bool = True
    #: The database of the archive. None: a SQLite file in `data_dir`, which is for a single machine.
    database_url: Annotated[SecretStr, AfterValidator(urls.database_url)] | None = None
    #: Seconds between two archiver runs over an active session.
    archive_interval_s: float = Field(default=5, ge=0.1, le=3_600)

    #: Whether the model requests and tool calls of sessions are recorded, unless a submission says otherwise. A
    #: record holds what agents read and what tools return, so it may be more private than the dialog.
    record_calls: bool = False

    #: Daily limits of each tenant, from midnight to midnight (UTC); None: no limit.
    tenant_daily_tokens: int | None = Field(default=None, ge=1, le=10**12)
    tenant_daily_usd: float | None = Field(default=None, ge=1e-6, le=1e6)
    tenant_daily_turns: int | None = Field(default=None, ge=1, le=10**9)

    #: Redis of the dialog memories. None: the Redis of the sessions.
    memory_redis_url: Annotated[SecretStr, AfterValidator(urls.redis_url)] | None = None
    #: Seconds after the last write until the memory of a user in a room expires.
    memory_ttl_s: int = Field(default=21_600, ge=1, le=31_536_000)
    #: Maximum bytes (UTF-8) of the memory of a user in a room; the oldest parameters are removed first.
    memory_max_bytes: int = Field(default=10_000, ge=2_048, le=1_048_576)
    #: Whether all memories of a user share a cluster slot: `dialog:{user}:room`, not `dialog:user:room`.
    memory_hash_tag: bool = False

    #: Session files that schedules may name, such as `{"standup": "/srv/standup.yaml"}`.
    jobs: NamedPaths = Field(default_factory=dict)
    #: Folders that schedules may review, such as `{"shop": "/srv/shop"}`.
    review_roots: NamedPaths = Field(default_factory=dict)
    #: File of the report deliveries. None: `deliveries.toml` in the working folder, if it exists.
    deliveries_file: ExpandedPath | None = None
    #: File of schedules that the beat loads. None: `schedules.toml` in the working folder, if it exists.
    schedules_file: ExpandedPath | None = None

    #: Number of turns that a worker process runs side by side, each in a thread.
    worker_concurrency: int = Field(default=8, ge=1, le=1_000)
    #: Number of worker processes of `symposia worker` and `symposia up`. None: the usable cores, at most 64.
    worker_processes: int | None = Field(default=None, ge=1, le=64)
    #: Port on which each worker serves its metrics over HTTP. None: it serves none.
    metrics_port: int | None = Field(default=None, ge=1, le=65_535)
    #: Address on which a worker serves its metrics.
    metrics_address: str = Field(default="127.0.0.1", min_length=1, max_length=255)
    #: Seconds without progress after which the metrics report an active session as stuck.
    stuck_after_s: float = Field(default=300, ge=1, le=86_400)

    #: Loopback port of Flower.
    flower_port: int = Field(default=5_555, ge=1, le=65_535)
    #: Host names, separated by commas, under which browsers reach the pages of sessions in Flower, in addition
    #: to loopback names and the address of Flower: the name of a proxy, for example.
    flower_hosts: HostNames = ()
    #: Minimum level of log records.
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "INFO"
    #: Format of log records: lines of text, or one JSON object per line.
    log_format: Literal["text", "json"] = "text"


def load_settings(**chosen: object) -> Settings:
    """Read the settings from the environment; `chosen` values take precedence.

    Raises:
        InvalidInput: A value is not valid; the error names the first such variable, without passwords.
    """
    named = {name: value for name, value in _read_alternatives().items() if name not in chosen}
    try:
        settings = Settings(**{**named, **chosen})  # type: ignore[arg-type]  # pydantic checks the values
    except ValidationError as error:
        bad = invalid_input(error)
        bad.field = ALTERNATIVE_NAMES[bad.field] if bad.field in named else f"{PREFIX}{bad.field.upper()}"
        raise bad from None
    _check_broker(settings)
    return settings


def _check_broker(settings: Settings) -> None:
    """Raise InvalidInput if a Redis Cluster of the sessions would also be the broker."""
    if settings.redis_url is None or settings.broker_url is not None:
        return
    url = settings.redis_url.get_secret_value()
    if RedisAddress.parse(url).kind is RedisKind.CLUSTER:
        rule = f"is required with the Redis Cluster {without_password(url)}: {urls.NO_CLUSTER_BROKER}"
        raise InvalidInput(f"{PREFIX}BROKER_URL", ABSENT, rule)


def _read_alternatives() -> dict[str, str]:
    """Return the values of alternative variables for settings whose own variable is not set."""
    return {
        name: value
        for name, also in ALTERNATIVE_NAMES.items()
        if (value := os.environ.get(also)) and not os.environ.get(f"{PREFIX}{name.upper()}")
    }


def read_variable(name: str) -> str | None:
    """Return the value of any variable: the agents file names variables with API keys."""
    return os.environ.get(name)


def child_environment(settings: Settings) -> dict[str, str]:
    """Return the environment in which a child process reads these same settings."""
    return {
        **os.environ,
        **{f"{PREFIX}{name.upper()}": _plain(value) for name, value in settings if value is not None},
    }


def _plain(value: object) -> str:
    if isinstance(value, dict):
        return json.dumps(value, default=str)
    if isinstance(value, tuple):
        return ",".join(value)
    return value.get_secret_value() if isinstance(value, SecretStr) else str(value)


#: Minimum characters of a secret: shorter values are usually words, and would be hidden inside other texts.
MIN_SECRET_CHARS = 6

_NAME = re.compile(r"(?:^|_)(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?)$", re.IGNORECASE)


def known_secrets(urls: Iterable[str]) -> tuple[str, ...]:
    """Return the passwords in the URLs in use, and the values of variables such as `OPENAI_API_KEY`.

    Longest first: one may be part of another.
    """
    passwords = [password for url in urls for password in _passwords(url)]
    variables = [value for name, value in os.environ.items() if _NAME.search(name)]
    found = {*passwords, *map(unquote, passwords), *variables, *exporter_secrets()}
    return tuple(sorted((it for it in found if len(it) >= MIN_SECRET_CHARS), key=len, reverse=True))


def _passwords(url: str) -> list[str]:
    """Return the passwords of the user and of the Sentinels."""
    parts = urlsplit(url)
    options = [value for name, value in parse_qsl(parts.query) if name == "sentinel_password"]
    return [it for it in (parts.password, *options) if it]
