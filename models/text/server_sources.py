"""Where the URLs of the servers in use come from, so that messages name what to change.

The exceptions that need it know only the URL.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self


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
    _sources.pop(url, None)
    if source is not None:
        _sources[url] = source


def source_of(url: str) -> ServerSource:
    """Return the recorded source of a URL, else that of an argument."""
    return _sources.get(url, _ARGUMENT)
