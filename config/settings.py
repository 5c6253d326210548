"""The settings: one frozen value. Only this package reads the environment.

All other code gets its settings as arguments, so a test or an embedding program passes them without changing
the environment. `load_settings` reads them; the description of a field is its only documentation:
`symposia config` prints it, and docs/settings.md is generated from it.
"""

from __future__ import annotations

import json
import logging
import os
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError, ValidationInfo, field_validator

from ..models.attachments import DEFAULT_BYTES, MAX_BYTES
from ..models.errors import InvalidInput, invalid_input
from ..models.sessions.subsession_limits import DEEPEST, MAX_DEPTH, MAX_SUBSESSIONS
from ..models.text.durations import Duration, WholeDuration
from ..models.text.paths import ExpandedPath
from ..models.text.redact import ABSENT, HIDDEN, hides_password_whole, without_password
from ..models.text.redis_address import RedisAddress, RedisKind, ServerSource, record_source
from .field_types import (
    NO_CLUSTER_BROKER,
    BrokerUrl,
    DatabaseUrl,
    FlowerUsers,
    HostNames,
    KeyPrefix,
    KeySource,
    NamedPaths,
    NetworkNames,
    Origins,
    QueueName,
    RedisUrl,
    TenantWeights,
    Unset,
    VariableName,
    WebUrl,
    WebUrls,
)
from .project import describe_shared_data, project_data_dir, project_folder, user_data_dir
from .sources import (
    FILE_VARIABLE,
    NO_FILE,
    ConfiguredValue,
    configured_values,
    find_problems,
    is_child,
    variable_of,
)

_log = logging.getLogger(__name__)

#: Variable of `metrics_port`.
METRICS_PORT = variable_of("metrics_port")
#: The settings whose values are paths.
PATHS = frozenset(
    {
        *("agents_file", "data_dir", "deliveries_file", "jobs", "review_roots"),
        *("schedules_file", "session_root", "webhooks_file"),
    }
)


def _default_data_dir(values: dict[str, object]) -> Path:
    """Return the data folder used if none is configured: only an embedded installation belongs to a project."""
    if values.get("shared") or values.get("redis_url") is not None:
        return user_data_dir()
    return project_data_dir(project_folder())


class Settings(BaseModel):
    """Settings of an installation.

    Use `load_settings`, which also reads the environment and reports an invalid value in one line. URLs are
    secrets, because they may contain a password: read a URL with `.get_secret_value()`, show it with
    `without_password`.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True, validate_default=True)

    redis_url: Annotated[RedisUrl | None, Unset("the embedded server of the project")] = Field(
        default=None, description="Redis or Valkey of the sessions: server, cluster or Sentinel."
    )
    broker_url: Annotated[BrokerUrl | None, Unset("the Redis of the sessions")] = Field(
        default=None, description="Broker of the task messages; required with a Redis Cluster."
    )
    queue: QueueName = Field(
        default="symposia",
        description=(
            "Name of the queue of the task messages, with which the names of all other queues begin: letters, digits, "
            "`.`, `_` and `-`; the same for all workers and clients."
        ),
    )
    key_prefix: Annotated[KeyPrefix, Unset("no prefix")] = Field(
        default="",
        description=(
            "Text before each key in Redis, such as `shop:`, so that "
            "[two installations](deploying-redis.md#two-installations-on-one-redis) can share one: letters, digits, "
            "`.`, `_`, `-` and `:`; the same for all workers and clients."
        ),
    )
    queue_type: Literal["classic", "quorum"] = Field(
        default="classic",
        description=(
            "Type of the queues of the task messages in RabbitMQ; the same for all workers and clients. Other brokers have no types."
        ),
    )
    shared: bool = Field(
        default=False,
        description=(
            "Whether all projects of the user share one embedded installation, as up to release 0.1. "
            "Otherwise each [project](#projects) has its own."
        ),
    )
    data_dir: Annotated[ExpandedPath, Unset("a folder of the project, in the data folder of the user")] = (
        Field(
            default_factory=_default_data_dir,
            description=(
                "Folder of Symposia's files on this machine: data of the embedded server, SQLite archive, logs."
            ),
        )
    )
    agents_file: Annotated[
        ExpandedPath | None, Unset("`agents.toml` in the working folder, if it exists")
    ] = Field(default=None, description="The [agents file](agents.md).")
    session_root: Annotated[ExpandedPath | None, Unset("no other folder")] = Field(
        default=None,
        description=(
            "Folder below which [session files](modes.md#session-files) may name files (`session`, `output_schema`,"
            " `attachments`), besides the folder of the session file."
        ),
    )

    lease_s: Duration = Field(
        default=30,
        ge=1,
        le=3_600,
        description=(
            "Seconds of a turn's lease without renewal. A frozen worker delays a session by this time; turns of a "
            "killed one are [taken over](turn-protocol.md#a-lost-worker) within seconds."
        ),
    )
    sweep_interval_s: Duration = Field(
        default=1, ge=0.1, le=60, description="Seconds between two sweeps of a worker over the due sessions."
    )
    redispatch_after_s: Duration = Field(
        default=10,
        ge=1,
        le=3_600,
        description="Seconds that a planned turn waits for a worker before its task is sent again.",
    )
    turn_timeout_s: Duration = Field(
        default=300,
        ge=1,
        le=86_400,
        description="Maximum seconds of a turn, unless its participant has another limit.",
    )

    max_message_bytes: int = Field(
        default=1_048_576, ge=1_024, le=67_108_864, description="Maximum size of a message in bytes (UTF-8)."
    )
    max_attachment_bytes: int = Field(
        default=DEFAULT_BYTES,
        ge=1_024,
        le=MAX_BYTES,
        description="Maximum size of an [attachment](attachments.md) in bytes.",
    )
    max_turns: int = Field(
        default=10_000,
        ge=1,
        le=1_000_000,
        description=(
            "Maximum turns of a session, independent of its stop conditions: an upper bound on the cost."
        ),
    )
    max_subsession_depth: int = Field(
        default=MAX_DEPTH,
        ge=1,
        le=DEEPEST,
        description="Maximum number of sessions above a [sub-session](composing.md).",
    )
    max_subsessions: int = Field(
        default=MAX_SUBSESSIONS,
        ge=1,
        le=10_000,
        description="Maximum number of sub-sessions below one session, those of sub-sessions included.",
    )
    retention_s: WholeDuration = Field(
        default=604_800,
        ge=60,
        le=31_536_000,
        description="Seconds for which the keys of a finished session stay in Redis.",
    )

    archive: bool = Field(
        default=True,
        description=(
            "Whether sessions are [archived](archive.md) in SQL; their keys then expire only after that."
        ),
    )
    database_url: Annotated[
        DatabaseUrl | None, Unset("a SQLite file in the data folder, for a single machine")
    ] = Field(default=None, description="Database of the archive: SQLite or PostgreSQL.")
    archive_interval_s: Duration = Field(
        default=5, ge=0.1, le=3_600, description="Seconds between two archiver runs over an active session."
    )
    record_calls: bool = Field(
        default=False,
        description=(
            "Whether the model requests and tool calls of sessions are recorded for a "
            "[replay](replay.md), unless a submission says otherwise. A record may be more private "
            "than the dialog."
        ),
    )

    tenant_daily_tokens: Annotated[int | None, Unset("no limit")] = Field(
        default=None,
        ge=1,
        le=10**12,
        description="[Daily tokens](limits.md) of each tenant, from midnight to midnight (UTC).",
    )
    tenant_daily_usd: Annotated[float | None, Unset("no limit")] = Field(
        default=None, ge=1e-6, le=1e6, description="Daily US dollars of each tenant."
    )
    tenant_daily_turns: Annotated[int | None, Unset("no limit")] = Field(
        default=None, ge=1, le=10**9, description="Daily turns of each tenant."
    )
    tenant_weights: Annotated[TenantWeights, Unset("1 for each tenant")] = Field(
        default_factory=dict,
        description=(
            'Weights of tenants in their [shares](limits.md#fair-shares) of busy workers, 1 to 16: `{"shop": 3}`.'
        ),
    )

    memory_redis_url: Annotated[RedisUrl | None, Unset("the Redis of the sessions")] = Field(
        default=None, description="Redis of the [dialog memories](memory.md)."
    )
    memory_ttl_s: WholeDuration = Field(
        default=21_600,
        ge=1,
        le=31_536_000,
        description="Seconds after the last write until the memory of a user in a room expires.",
    )
    memory_max_bytes: int = Field(
        default=10_000,
        ge=2_048,
        le=1_048_576,
        description="Maximum bytes (UTF-8) of a memory; the oldest parameters are removed first.",
    )
    memory_hash_tag: bool = Field(
        default=False,
        description=(
            "Whether all memories of a user share a cluster slot: `dialog:{user}:room`, not "
            "`dialog:user:room`."
        ),
    )

    recall_store: Annotated[str | None, Unset("the archive")] = Field(
        default=None,
        max_length=1_000,
        pattern=r"^[\w.]+:[\w.]+$",
        description="Store of the [long-term memory](memory.md): `module:object`, such as an adapter of mem0.",
    )
    recall_max_texts: int = Field(
        default=1_000,
        ge=10,
        le=100_000,
        description="Maximum number of texts of one user, room or tenant in the archive; the oldest are deleted.",
    )

    jobs: Annotated[NamedPaths, Unset("none")] = Field(
        default_factory=dict,
        description=(
            "Session files that [schedules](schedules.md) may name, and that are tools of [MCP clients](mcp.md): "
            '`{"standup": "/srv/standup.yaml"}`.'
        ),
    )
    review_roots: Annotated[NamedPaths, Unset("none")] = Field(
        default_factory=dict, description='Folders that schedules may review: `{"shop": "/srv/shop"}`.'
    )
    deliveries_file: Annotated[
        ExpandedPath | None, Unset("`deliveries.toml` in the working folder, if it exists")
    ] = Field(default=None, description="File of the [report deliveries](reviews.md).")
    schedules_file: Annotated[
        ExpandedPath | None, Unset("`schedules.toml` in the working folder, if it exists")
    ] = Field(default=None, description="File of the schedules that the beat loads.")
    webhooks_file: Annotated[
        ExpandedPath | None, Unset("`webhooks.toml` in the working folder, if it exists")
    ] = Field(default=None, description="File of the [webhooks](webhooks.md), outgoing and incoming.")

    on_end_urls: Annotated[WebUrls, Unset("none")] = Field(
        default=(),
        description=(
            "URLs with which a URL of [`on_end`](celery.md#a-url-at-the-end-of-a-session) may begin; the same for "
            "workers and clients."
        ),
    )
    on_end_networks: Annotated[NetworkNames, Unset("none")] = Field(
        default=(),
        description=(
            "Networks of these URLs that may be called although they are private, also without TLS."
        ),
    )
    on_end_secret_env: VariableName = Field(
        default="ON_END_SECRET",
        description="Environment variable of the workers with the secret that signs the calls of these URLs.",
    )

    public_url: Annotated[WebUrl | None, Unset("notices contain no link")] = Field(
        default=None,
        description=(
            "Address under which people reach the [web server](people.md#notices), such as `https://symposia.example.com`: "
            "notices contain a link to `/answers/TOKEN` below it."
        ),
    )
    notices_from: Annotated[str | None, Unset("no e-mail is sent")] = Field(
        default=None,
        min_length=3,
        max_length=254,
        pattern=r"^[!-~]+@[A-Za-z0-9.-]+$",
        description="Sender of the e-mails about [questions to people](people.md#notices).",
    )
    notices_smtp_url_env: VariableName = Field(
        default="NOTICES_SMTP_URL",
        description=(
            "Environment variable of the workers with the URL of the mail server, with user and password: "
            "`smtp://user:password@host:587` (STARTTLS; without it only on loopback) or `smtps://...`."
        ),
    )
    notices_secret_env: VariableName = Field(
        default="NOTICES_SECRET",
        description="Environment variable of the workers and the web server with the secret that signs the links of notices.",
    )
    notices_networks: Annotated[NetworkNames, Unset("none")] = Field(
        default=(),
        description="Networks of chat webhooks that may be called although they are private, also without TLS.",
    )
    notices_per_hour: int = Field(
        default=20,
        ge=1,
        le=10_000,
        description="Maximum number of notices to a person in an hour; more of them wait.",
    )

    worker_concurrency: int = Field(
        default=8,
        ge=1,
        le=1_000,
        description=(
            "Turns that a worker process runs at the same time, each in a thread. `symposia up` runs as many for each "
            "usable core if neither this nor a number of worker processes is set."
        ),
    )
    worker_processes: Annotated[int | None, Unset("the usable cores, at most 64; 1 for `symposia up`")] = (
        Field(
            default=None, ge=1, le=64, description="Worker processes of `symposia worker` and `symposia up`."
        )
    )
    metrics_port: Annotated[int | None, Unset("no metrics are served")] = Field(
        default=None,
        ge=1,
        le=65_535,
        description=(
            "Port on which the first process of a worker serves the [metrics](monitoring.md) over HTTP."
        ),
    )
    metrics_address: str = Field(
        default="127.0.0.1",
        min_length=1,
        max_length=255,
        description="Address on which a worker serves its metrics.",
    )
    stuck_after_s: Duration = Field(
        default=300,
        ge=1,
        le=86_400,
        description="Seconds without progress after which metrics and pages report an active session as stuck.",
    )

    http_port: int = Field(
        default=8_765,
        ge=1,
        le=65_535,
        description="Port of the [HTTP API](http.md); with `symposia up` on loopback.",
    )
    http_requests: Annotated[int | None, Unset("no limit")] = Field(
        default=None,
        ge=1,
        le=10**9,
        description="Maximum requests a minute of each caller of the [HTTP API](http.md), in each server process.",
    )
    http_streams: int = Field(
        default=200,
        ge=1,
        le=100_000,
        description="Maximum open streams of each caller of the HTTP API, in each server process.",
    )
    mcp_wait_s: Duration = Field(
        default=50,
        ge=0.1,
        le=86_400,
        description=(
            "Maximum seconds for which a call of an [MCP client](mcp.md) waits for its session. Many clients give up"
            " after 60 s."
        ),
    )
    mcp_cancel_sessions: bool = Field(
        default=False,
        description=(
            "Whether a call of an MCP client that is cancelled cancels the session that it has submitted."
        ),
    )
    flower_port: int = Field(
        default=5_555, ge=1, le=65_535, description="Loopback port of [Flower](dashboard.md)."
    )
    flower_hosts: Annotated[HostNames, Unset("none")] = Field(
        default=(),
        description=(
            "Host names under which browsers reach the pages of sessions in Flower, besides loopback "
            "names and the address of Flower: the name of a proxy, for example."
        ),
    )
    flower_users: Annotated[FlowerUsers, Unset("each user of Flower may do everything")] = Field(
        default_factory=dict,
        description=(
            "[Rights of users of Flower](identity.md#users-of-flower), by the names with which they log in: "
            '`{"ann": {"tenant": "shop", "scopes": ["read", "reply"]}}`. Other users are then refused.'
        ),
    )
    http_cors_origins: Annotated[Origins, Unset("none")] = Field(
        default=(),
        description=(
            "Origins of web pages of other hosts that may call the [HTTP API](identity.md) from a browser, such as "
            "`https://shop.example`."
        ),
    )
    http_jwt_keys: Annotated[KeySource | None, Unset("no JSON Web Tokens")] = Field(
        default=None,
        description=(
            "Keys of the [JSON Web Tokens](identity.md#json-web-tokens) of callers over HTTP: the https URL or the "
            "file of a JSON Web Key Set."
        ),
    )
    http_jwt_issuer: Annotated[str | None, Unset("none; required with `http_jwt_keys`")] = Field(
        default=None, min_length=1, max_length=1_000, description="Issuer (`iss`) of these tokens."
    )
    http_jwt_audience: Annotated[str | None, Unset("none; required with `http_jwt_keys`")] = Field(
        default=None, min_length=1, max_length=1_000, description="Audience (`aud`) of these tokens."
    )
    http_jwt_name_claim: str = Field(
        default="sub", min_length=1, max_length=200, description="Claim with the name of the caller."
    )
    http_jwt_tenant_claim: str = Field(
        default="tenant",
        min_length=1,
        max_length=200,
        description="Claim with the tenant of the caller; a token without it is refused.",
    )
    http_jwt_scope_claim: str = Field(
        default="scope",
        min_length=1,
        max_length=200,
        description="Claim with the scopes of the caller: a list, or a text with spaces; other names are ignored.",
    )
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = Field(
        default="INFO", description="Minimum level of log records."
    )
    log_format: Literal["text", "json"] = Field(
        default="text", description="Format of log records: lines of text, or one JSON object per line."
    )

    @field_validator("*", mode="before")
    @classmethod
    def _refuse_flags(cls, value: object, info: ValidationInfo) -> object:
        """Refuse `true` and `false` for numbers, which Pydantic takes as 1 and 0."""
        if isinstance(value, bool) and cls.model_fields[str(info.field_name)].annotation is not bool:
            raise ValueError("must not be true or false")
        return value


def load_settings(**chosen: object) -> Settings:
    """Return the settings: `chosen` values, then the environment, then the settings file, then defaults.

    Problems of the configuration, such as an unknown variable, are logged once.

    Raises:
        InvalidInput: A value is not valid; the error names the first such variable or key, without passwords.
    """
    if not is_child():
        for problem in find_settings_problems():
            _warn(problem)
    configured = load_configured()
    read = {name: setting.value for name, setting in configured.items() if name not in chosen}
    values = {**read, **chosen}
    try:
        settings = Settings(**values)
    except ValidationError as error:
        bad = invalid_input(error)
        if isinstance(url := values.get(bad.field), str) and not hides_password_whole(url):
            bad.value = HIDDEN
        raise _blame(bad, {name: configured[name] for name in read}) from None
    _check_broker(settings)
    _record_sources(settings, configured, chosen)
    if not is_child() and "data_dir" not in values and (notice := describe_shared_data(settings.data_dir)):
        _warn(notice)
    return settings


@cache
def _warn(problem: str) -> None:
    """Log a problem once in this process."""
    _log.warning("%s", problem)


def find_settings_problems() -> list[str]:
    """Return a line for each problem of the configuration that does not prevent its use."""
    return find_problems(Settings.model_fields.keys())


def load_configured() -> dict[str, ConfiguredValue]:
    """Return the values of the environment and of the settings file, not yet checked.

    Raises:
        InvalidInput: The settings file cannot be read or has an unknown key.
    """
    return configured_values(Settings.model_fields.keys(), PATHS)


def _blame(bad: InvalidInput, read: dict[str, ConfiguredValue]) -> InvalidInput:
    """Return the error with the variable, or the file and key, in place of the setting's name."""
    name = re.split(r"[.\[]", bad.field, maxsplit=1)[0]
    rest = bad.field.removeprefix(name)
    bad.field = f"{read[name].label(name) if name in read else variable_of(name)}{rest}"
    return bad


def _record_sources(
    settings: Settings, configured: Mapping[str, ConfiguredValue], chosen: Mapping[str, object]
) -> None:
    """Record where the URLs of servers come from, for errors."""
    for name in ("database_url", "memory_redis_url", "broker_url", "redis_url"):
        url: SecretStr | None = getattr(settings, name)
        if url is not None:
            given = None if name in chosen else configured.get(name)
            source = None if given is None else _server_source(name, given)
            record_source(url.get_secret_value(), source)


def _server_source(name: str, given: ConfiguredValue) -> ServerSource:
    if is_child():  # its variables hold the settings of the parent, from whatever source
        return ServerSource.of_setting(given.source, f"{name} (`symposia config` shows its source)")
    return ServerSource.of_setting(
        given.source, f"{name} in {given.source}" if given.is_file else given.source
    )


def _check_broker(settings: Settings) -> None:
    """Raise InvalidInput if a Redis Cluster of the sessions would also be the broker."""
    if settings.redis_url is None or settings.broker_url is not None:
        return
    url = settings.redis_url.get_secret_value()
    if RedisAddress.parse(url).kind is RedisKind.CLUSTER:
        rule = f"is required with the Redis Cluster {without_password(url)}: {NO_CLUSTER_BROKER}"
        raise InvalidInput(variable_of("broker_url"), ABSENT, rule)


def read_variable(name: str) -> str | None:
    """Return the value of any variable: the agents file names variables with API keys.

    A secret that was made from a file often ends with a line break, which no header of a request may have.
    """
    value = os.environ.get(name)
    return None if value is None else value.strip()


def child_environment(settings: Settings) -> dict[str, str]:
    """Return the environment in which a child process reads these same settings, and no settings file."""
    own = {variable_of(name): _plain(value) for name, value in settings if value is not None}
    inherited = os.environ.keys() - set(map(variable_of, Settings.model_fields))
    return {**{name: os.environ[name] for name in inherited}, **own, FILE_VARIABLE: NO_FILE}


def _plain(value: object) -> str:
    if isinstance(value, dict):
        return json.dumps(value, default=_plain_part)
    if isinstance(value, tuple):
        return ",".join(value)
    return value.get_secret_value() if isinstance(value, SecretStr) else str(value)


def _plain_part(value: object) -> object:
    return value.model_dump(mode="json") if isinstance(value, BaseModel) else str(value)
