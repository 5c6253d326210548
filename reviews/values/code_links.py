"""Links to lines of a repository on a code host, from the address of its remote.

Addresses come from the configuration of a reviewed repository or from an option. They are data: nothing is
fetched from them, and user names and passwords in them are dropped.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import quote

#: Maximum characters of an address.
MAX_URL = 2_000

_PATH = r"(?P<path>(?:[\w.~+-]+/)*[\w.~+-]+?)(?:\.git)?/?"
_HOST = r"(?P<host>[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?)"
_WEB = re.compile(rf"(?P<scheme>https?)://(?:[^/@\s]*@)?{_HOST}(?P<port>:\d{{1,5}})?/{_PATH}", re.ASCII)
_SSH = re.compile(rf"(?:ssh|git\+ssh)://(?:[^/@\s]*@)?{_HOST}(?::\d{{1,5}})?/{_PATH}", re.ASCII)
#: As `scp` writes it.
_SCP = re.compile(rf"(?:[\w.-]+@){_HOST}:/?{_PATH}", re.ASCII)


class _Form(NamedTuple):
    """Link to a file at a commit, the fragment for a line and for lines, and the path of a pull request."""

    file: str
    line: str
    lines: str
    pull: str


_GITHUB = _Form("/blob/{commit}/{path}", "#L{start}", "#L{start}-L{end}", "/pull/{number}")
_FORMS: Mapping[str, _Form] = {
    "github": _GITHUB,
    "gitlab": _Form("/-/blob/{commit}/{path}", "#L{start}", "#L{start}-{end}", "/-/merge_requests/{number}"),
    "bitbucket": _Form(
        "/src/{commit}/{path}", "#lines-{start}", "#lines-{start}:{end}", "/pull-requests/{number}"
    ),
    "gitea": _Form("/src/commit/{commit}/{path}", "#L{start}", "#L{start}-L{end}", "/pulls/{number}"),
    "sourcehut": _Form("/tree/{commit}/item/{path}", "#L{start}", "#L{start}-{end}", ""),
}
#: Parts of host names, with their form.
_HOSTS = {
    "github": "github",
    "gitlab": "gitlab",
    "bitbucket.org": "bitbucket",
    "codeberg": "gitea",
    "gitea": "gitea",
    "forgejo": "gitea",
    "git.sr.ht": "sourcehut",
}


def web_address(remote: str) -> str:
    """Return `https://host/path` from the address of a remote (HTTP, SSH, or as `scp`); empty: another form."""
    if len(remote) > MAX_URL:
        return ""
    if match := _WEB.fullmatch(remote):
        return f"{match['scheme']}://{match['host']}{match['port'] or ''}/{match['path']}"
    match = _SSH.fullmatch(remote) or _SCP.fullmatch(remote)
    return f"https://{match['host']}/{match['path']}" if match else ""


def _form_of(repository_url: str) -> _Form | None:
    """Return the form of the links of a code host; None: not known."""
    host = repository_url.partition("://")[2].partition("/")[0].casefold()
    return next((_FORMS[form] for part, form in _HOSTS.items() if part in host), None)


def pull_link(repository_url: str, number: int) -> str:
    """Return the link to a pull request; empty: the host's form of links is not known."""
    form = _form_of(repository_url)
    return repository_url + form.pull.format(number=number) if form and form.pull else ""


def line_link(repository_url: str, commit: str, path: str, *, start: int, end: int) -> str:
    """Return the link to lines of a file, start 0: to all of it; empty: the host's form of links is not known."""
    form = _form_of(repository_url)
    if form is None or not commit:
        return ""
    fragment = "" if not start else form.line if start == end else form.lines
    return (repository_url + form.file + fragment).format(
        commit=quote(commit, safe=""), path=quote(path), start=start, end=end
    )
