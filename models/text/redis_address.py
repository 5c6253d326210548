"""Redis URLs: one server, a cluster, or the master of Sentinels.

    redis://[USER:PASSWORD@]HOST[:PORT][/DB]
    redis+cluster://[USER:PASSWORD@]HOST[:PORT][,HOST[:PORT]...]
    redis+sentinel://[USER:PASSWORD@]HOST[:PORT][,HOST[:PORT]...]/MASTER[/DB]

Each with `rediss` for `redis` with TLS, and options after a `?`. The option `key_prefix` is the setting of that name:
`with_key_prefix` adds it to the configured URL.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Self
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit


class RedisKind(StrEnum):
    """Kind of the servers of an address."""

    SINGLE = "server"
    CLUSTER = "cluster"
    SENTINEL = "sentinel"


#: Schemes of URLs, with the kind and the scheme that redis-py needs for a single server.
SCHEMES = {
    f"{plain}{suffix}": (kind, plain)
    for suffix, kind in (
        ("", RedisKind.SINGLE),
        ("+cluster", RedisKind.CLUSTER),
        ("+sentinel", RedisKind.SENTINEL),
    )
    for plain in ("redis", "rediss")
}
#: Options for the connections to Sentinels, if these have their own credentials.
SENTINEL_OPTIONS = ("sentinel_username", "sentinel_password")

_PORTS = {RedisKind.SINGLE: 6379, RedisKind.CLUSTER: 6379, RedisKind.SENTINEL: 26379}
_BAD_PORT = "port must be a number from 0 to 65535; in a password, write #, / and @ as %23, %2F and %40"


@dataclass(frozen=True, slots=True)
class RedisAddress:
    """A parsed Redis URL."""

    kind: RedisKind
    #: The URL of the first node as redis-py reads it: credentials, database and options, `redis://` or `rediss://`.
    plain: str = field(repr=False)
    #: Hosts and ports: of the server, of nodes of the cluster, or of the Sentinels.
    nodes: tuple[tuple[str, int], ...]
    #: The name that Sentinels have for the master.
    master: str = ""
    #: Credentials for the Sentinels: `username`, `password`.
    sentinel: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def is_tls(self) -> bool:
        """True for TLS, which then applies to Sentinels, too."""
        return self.plain.startswith("rediss://")

    @classmethod
    def parse(cls, url: str) -> RedisAddress:
        """Parse a URL.

        Raises:
            ValueError: The URL breaks a rule; the error names the rule.
        """
        url, _ = split_key_prefix(url)
        parts = urlsplit(url)
        if parts.scheme not in SCHEMES:
            raise ValueError(f"must start with one of {', '.join(f'{scheme}://' for scheme in SCHEMES)}")
        kind, scheme = SCHEMES[parts.scheme]
        credentials, at, hosts = parts.netloc.rpartition("@")
        nodes = _nodes(hosts, kind)
        host, port = nodes[0]
        path = [part for part in parts.path.split("/") if part]
        master = _master(path) if kind is RedisKind.SENTINEL else ""
        options = parse_qsl(parts.query, keep_blank_values=True)
        if kind is RedisKind.CLUSTER and {*path, *(value for name, value in options if name == "db")} - {"0"}:
            raise ValueError("must not name a database: a Redis Cluster has only database 0")
        own = {name: value for name, value in options if name in SENTINEL_OPTIONS}
        if own and kind is not RedisKind.SENTINEL:
            raise ValueError(f"must be a redis+sentinel:// URL to use {' or '.join(own)}")
        if kind is not RedisKind.SINGLE:
            netloc = f"{credentials}{at}{f'[{host}]' if ':' in host else host}:{port}"
            query = urlencode([(name, value) for name, value in options if name not in SENTINEL_OPTIONS])
            parts = parts._replace(netloc=netloc, path=f"/{path[1] if len(path) > 1 else 0}", query=query)
        return cls(
            kind,
            url if kind is RedisKind.SINGLE else parts._replace(scheme=scheme).geturl(),
            nodes,
            master,
            {name.removeprefix("sentinel_"): value for name, value in own.items()},
        )


def _nodes(hosts: str, kind: RedisKind) -> tuple[tuple[str, int], ...]:
    if kind is RedisKind.SINGLE:
        return (_node(hosts, kind),)
    return tuple(_node(text, kind) for text in hosts.split(","))


def _node(text: str, kind: RedisKind) -> tuple[str, int]:
    parts = urlsplit(f"//{text}")
    try:
        port = parts.port
    except ValueError:
        raise ValueError(_BAD_PORT) from None
    if not parts.hostname and kind is not RedisKind.SINGLE:
        raise ValueError(
            f"must list the hosts of the {kind}, such as host1:{_PORTS[kind]},host2:{_PORTS[kind]}"
        )
    return parts.hostname or "localhost", port or _PORTS[kind]


def _master(path: list[str]) -> str:
    """Return the name in the path, before the number of the database."""
    if not path or len(path) > 2 or (len(path) == 2 and not path[1].isdecimal()):
        raise ValueError("must name the Sentinels' master: redis+sentinel://host:26379/mymaster/0")
    return unquote(path[0])


_KEY_PREFIX = "key_prefix="


def with_key_prefix(url: str, prefix: str) -> str:
    """Return the URL with the prefix of all keys as an option; unchanged with an empty prefix."""
    if not prefix:
        return url
    plain, _ = split_key_prefix(url)
    return f"{plain}{'&' if '?' in plain else '?'}{_KEY_PREFIX}{quote(prefix, safe='')}"


def split_key_prefix(url: str) -> tuple[str, str]:
    """Return the URL without the prefix of all keys, and the prefix."""
    base, _, query = url.partition("?")
    if _KEY_PREFIX not in query:
        return url, ""
    options = query.split("&")
    kept = "&".join(option for option in options if not option.startswith(_KEY_PREFIX))
    prefix = next((option for option in options if option.startswith(_KEY_PREFIX)), "")
    return f"{base}?{kept}" if kept else base, unquote(prefix.removeprefix(_KEY_PREFIX))


@dataclass(frozen=True, slots=True)
class ServerSource:
    """Source of a URL."""

    #: Variable, path of the settings file, or embedded server, as after "from".
    name: str
    #: What to change for another server.
    setting: str
    #: What to do if the server does not answer.
    cure: str

    @classmethod
    def of_setting(cls, source: str, setting: str) -> Self:
        """Return the source of a configured URL; `setting` names it, with its file."""
        return cls(source, setting, f"start it, or change {setting}")


_sources: dict[str, ServerSource] = {}
_ARGUMENT = ServerSource("an argument", "the URL", "start it, or pass the URL of a running server")


def record_source(url: str, source: ServerSource | None) -> None:
    """Record the source of a URL; None: an argument."""
    url, _ = split_key_prefix(url)
    _sources.pop(url, None)
    if source is not None:
        _sources[url] = source


def source_of(url: str) -> ServerSource:
    """Return the recorded source of a URL, else that of an argument."""
    return _sources.get(split_key_prefix(url)[0], _ARGUMENT)
