"""Types of settings: how the text of a variable becomes a value, and which values are valid.

URLs are checked before any connection; their credentials are moved before the host.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from ipaddress import ip_network
from typing import Annotated
from urllib.parse import SplitResult, parse_qsl, quote, urlencode, urlsplit

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, SecretStr
from redis import ConnectionPool
from redis.exceptions import RedisError

from ..models.identity import Scope
from ..models.sessions.agent_queues import MAX_QUEUE_NAME
from ..models.sessions.limits import Tenant
from ..models.sessions.on_end import split_url
from ..models.text.paths import ExpandedPath
from ..models.text.redact import hides_password_whole
from ..models.text.redis_address import SCHEMES, SENTINEL_OPTIONS, RedisAddress, RedisKind

#: Rule of an error: a Redis Cluster cannot be the broker, and what to do.
NO_CLUSTER_BROKER = (
    "Celery has no transport for it; use another broker, such as redis://host:6379/0 or amqp://host:5672//"
)
_CREDENTIALS = ("username", "password")
#: Allowed query options: none replaces classes or overrides settings of this package.
_OPTIONS = frozenset(
    {"client_name", "db", "health_check_interval", "max_connections", "protocol", "retry_on_timeout"}
    | {"socket_connect_timeout", "socket_keepalive", "socket_timeout", "timeout"}
    | {"ssl_ca_certs", "ssl_ca_path", "ssl_cert_reqs", "ssl_certfile", "ssl_check_hostname", "ssl_keyfile"}
    | {"ssl_password"}
)


def redis_url(given: SecretStr) -> SecretStr:
    """Return a URL of `RedisAddress`, with credentials moved out of its query.

    Raises:
        ValueError: The URL is not valid; the error names the rule.
    """
    url = _checked(given)
    tidy = _move_credentials(url, urlsplit(url)) if is_redis(url) else url
    _check_options(tidy, RedisAddress.parse(tidy))
    return SecretStr(tidy)


def broker_url(given: SecretStr) -> SecretStr:
    """Return a URL of any of Celery's transports; Redis URLs are checked as in `redis_url`."""
    url = _checked(given)
    if is_redis(url):
        taken = redis_url(given)
        if RedisAddress.parse(taken.get_secret_value()).kind is RedisKind.CLUSTER:
            raise ValueError(f"must not be a Redis Cluster: {NO_CLUSTER_BROKER}")
        return taken
    scheme, separator, _ = url.partition("://")
    if not (scheme and separator):
        raise ValueError("must be a URL such as redis://host:6379/0 or amqp://host:5672//")
    if scheme == "sentinel":
        raise ValueError("must name the Sentinels' master: redis+sentinel://host:26379/mymaster/0")
    return given


def is_redis(url: str) -> bool:
    """Return whether a URL is one of `RedisAddress`."""
    return url.partition("://")[0] in SCHEMES


def database_url(given: SecretStr) -> SecretStr:
    """Return a URL of SQLite or PostgreSQL.

    Raises:
        ValueError: The URL breaks a rule; the error names the rule.
    """
    url = _checked(given)
    scheme, separator, rest = url.partition("://")
    if scheme == "postgres":
        scheme = "postgresql"
    # SQLite reads `file:` and `:memory:` in its own way: the first may name any file, the second none.
    is_file = scheme == "sqlite" and len(rest) > 1 and re.match(r"/(?!file:|:memory:)", rest)
    if not separator or not (is_file or (scheme == "postgresql" and rest)):
        raise ValueError("must be sqlite:///file, sqlite:////absolute/file or postgresql://host/database")
    return SecretStr(f"{scheme}://{rest}")


def _checked(given: SecretStr) -> str:
    """Return the URL. Raises ValueError if it cannot be parsed, or its password could not be hidden."""
    url = given.get_secret_value()
    try:
        url.encode()
    except (
        UnicodeEncodeError
    ):  # the variable has bytes that are not UTF-8; a password would be sent with a `?` in it
        raise ValueError("must be valid UTF-8") from None
    try:
        urlsplit(url)
    except ValueError:
        raise ValueError(
            "must be a URL: [ ] may only enclose an IPv6 address; write other [ and ] as %5B and %5D"
        ) from None
    if not hides_password_whole(url):
        raise ValueError("must have no blank in a password; write it as %20")
    return url


def _move_credentials(url: str, parts: SplitResult) -> str:
    """Return the URL with `?username=` and `?password=` moved before its host.

    Programs that show URLs hide passwords only there, and Celery's transport reads them only there.
    """
    options = parse_qsl(parts.query, keep_blank_values=True)
    credentials = {name: quote(value, safe="") for name, value in options if name in _CREDENTIALS and value}
    if not credentials:
        return url
    _, _, host = parts.netloc.rpartition("@")
    username, password = (
        parts.username or credentials.get("username", ""),
        parts.password or credentials.get("password", ""),
    )
    kept = urlencode([(name, value) for name, value in options if name not in _CREDENTIALS])
    return parts._replace(netloc=f"{username}:{password}@{host}", query=kept).geturl()


def _check_options(url: str, address: RedisAddress) -> None:
    allowed = _OPTIONS | set(SENTINEL_OPTIONS) if address.kind is RedisKind.SENTINEL else _OPTIONS
    for name, _ in parse_qsl(urlsplit(url).query, keep_blank_values=True):
        if name not in allowed:
            raise ValueError(f"has an unknown option; allowed: {', '.join(sorted(allowed))}")
    try:
        ConnectionPool.from_url(address.plain).make_connection()  # opens no connection
    except (ValueError, TypeError, RedisError) as error:
        raise ValueError(f"is not accepted by the Redis client: {error}") from None


def _from_json(value: object) -> object:
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except ValueError:
        raise ValueError('must be JSON, such as {"name": "/a/path"}') from None


class FlowerUser(BaseModel):
    """Rights of a user of Flower."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    #: The tenant whose sessions they see; None: those of all tenants.
    tenant: Tenant | None = None
    scopes: Annotated[tuple[Scope, ...], Field(min_length=1)]


#: Rights of users by their names in Flower; JSON in the environment.
FlowerUsers = Annotated[dict[str, FlowerUser], BeforeValidator(_from_json), Field(max_length=1_000)]

#: Paths by the names that schedules and reviews use; JSON in the environment.
NamedPaths = Annotated[dict[str, ExpandedPath], BeforeValidator(_from_json), Field(max_length=1_000)]

#: Weights of tenants in the rotation; at most the number of lanes.
TenantWeights = Annotated[
    dict[str, Annotated[int, Field(ge=1, le=16)]], BeforeValidator(_from_json), Field(max_length=1_000)
]


def _split(value: object) -> object:
    return [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value


#: Host names; separated by commas in the environment.
HostNames = Annotated[tuple[str, ...], BeforeValidator(_split), Field(max_length=100)]


def _check_name(allowed: str) -> AfterValidator:
    pattern = re.compile(rf"[A-Za-z0-9{re.escape(allowed)}]{{0,{MAX_QUEUE_NAME}}}")

    def check(name: str) -> str:
        if pattern.fullmatch(name) is None:
            signs = f"{', '.join(allowed[:-1])} and {allowed[-1]}"
            raise ValueError(
                f"must have at most {MAX_QUEUE_NAME} letters, digits, and the characters {signs}"
            )
        return name

    return AfterValidator(check)


#: Name of an environment variable.
VariableName = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", max_length=200)]
#: Name of a queue: valid for AMQP and as a key of Redis.
QueueName = Annotated[str, _check_name("._-"), Field(min_length=1)]
#: Text before each key of Redis; no character of hash tags or patterns.
KeyPrefix = Annotated[str, _check_name("._-:")]


def _web_urls(given: tuple[str, ...]) -> tuple[str, ...]:
    for url in given:
        parts = split_url(url)
        if parts is None or parts.query:
            raise ValueError("must be http or https URLs with a host, without a user, a query and a fragment")
    return given


def _networks(given: tuple[str, ...]) -> tuple[str, ...]:
    for network in given:
        ip_network(network)  # raises ValueError
    return given


#: URLs of HTTP; separated by commas in the environment.
WebUrls = Annotated[
    tuple[str, ...], BeforeValidator(_split), AfterValidator(_web_urls), Field(max_length=100)
]
#: A URL of HTTP, such as that of a web server.
WebUrl = Annotated[str, AfterValidator(lambda url: _web_urls((url,))[0]), Field(max_length=2_000)]
#: Networks such as `10.0.0.0/8`; separated by commas in the environment.
NetworkNames = Annotated[
    tuple[str, ...], BeforeValidator(_split), AfterValidator(_networks), Field(max_length=100)
]


def _origins(given: tuple[str, ...]) -> tuple[str, ...]:
    for origin in given:
        parts = split_url(origin)
        if parts is None or parts.query or parts.path:
            raise ValueError(
                "must be origins of web pages, such as https://shop.example: scheme, host and port only"
            )
    return given


def _key_source(given: str) -> str:
    if "://" not in given:
        return given
    parts = split_url(given)
    if parts is None or (parts.scheme != "https" and parts.hostname not in ("localhost", "127.0.0.1", "::1")):
        raise ValueError(
            "must be an https URL without a user, an http URL of this machine, or the path of a file"
        )
    return given


#: Origins of web pages; separated by commas in the environment.
Origins = Annotated[tuple[str, ...], BeforeValidator(_split), AfterValidator(_origins), Field(max_length=100)]
#: Where keys are read: an https URL, or the path of a file.
KeySource = Annotated[str, Field(min_length=1, max_length=1_000), AfterValidator(_key_source)]
RedisUrl = Annotated[SecretStr, AfterValidator(redis_url)]
BrokerUrl = Annotated[SecretStr, AfterValidator(broker_url)]
DatabaseUrl = Annotated[SecretStr, AfterValidator(database_url)]


@dataclass(frozen=True, slots=True)
class Unset:
    """What applies if a setting has no value, in the words of the documentation."""

    text: str
