"""Update of a work tree to the newest commit of its branch at the remote `origin`, and checkout of pull requests.

A fetch runs in a temporary repository without configuration, as other commands in untrusted repositories: no
program that the repository names is run. The token is passed in the environment, never in arguments.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple
from urllib.parse import urlsplit, urlunsplit

from ...models.errors import GitFailed, InvalidInput, OtherCommit
from .git import Git
from .repository import Repository

#: Schemes of remotes that are fetched, and those that get the token.
_SCHEMES, _WITH_TOKEN = ("https", "http", "file", ""), ("https",)
#: Reference to the newest commit, so that git fetches only later ones.
_HAVE, _FETCHED, _BASE = "refs/symposia/have", "refs/symposia/fetched", "refs/symposia/base"
_FETCH = (
    *("fetch", "--quiet", "--no-tags", "--no-recurse-submodules", "--no-write-fetch-head"),
    "--end-of-options",
)


def update_branch(root: Path, *, token: str | None) -> str:
    """Fast-forward the checked-out branch of a work tree to its remote, and return the new commit.

    Args:
        root: A folder of the work tree.
        token: Token that may read the repository, for remotes with https; None: none is sent.

    Raises:
        InvalidInput: There is no repository, branch or remote, or the work tree has local commits or changes.
        GitFailed: Git failed, or did not answer in time.
    """
    git, repository = Git.find(root), Repository.find(root)
    branch = "" if repository is None else repository.branch()
    if git is None or repository is None or not branch:
        raise InvalidInput("update", str(root), "requires a git repository with a checked-out branch")
    url, old = _remote(git, field="update"), repository.head()
    with git.without_configuration() as bare:
        network = _network(bare, url, token)
        network.run("update-ref", _HAVE, old)
        network.run(*_FETCH, url, f"+refs/heads/{branch}:{_FETCHED}")
        new = network.run("rev-parse", "--verify", _FETCHED).decode().strip()
        if new == old:
            return new
        _refuse_local_commits(network, old, new, branch)
        checkout = Git(
            bare.git_dir,
            git.work_tree,
            git.work_tree,
            {**bare.extra_environment, "GIT_INDEX_FILE": str(git.path_of("index"))},
        )
        checkout.run("read-tree", "-m", "-u", _checked_out_tree(checkout, old, new, branch), new)
    git.run("update-ref", "HEAD", new, old)
    return new


class CheckedOutPull(NamedTuple):
    """Temporary work tree of a pull request."""

    #: The folder in it that is reviewed.
    folder: Path
    #: Newest commit of the branch that it is merged into.
    base: str


@contextmanager
def check_out_pull(
    root: Path, *, ref: str, head: str, base: str, token: str | None
) -> Iterator[CheckedOutPull]:
    """Yield a work tree of a pull request. Its commits are fetched into the objects of the root; no branch changes.

    Args:
        root: A folder of a work tree with the remote `origin`.
        ref: Reference to the newest commit of the pull request at the remote, without `refs/`.
        head: That commit.
        base: The branch that it is merged into.
        token: As in `update_branch`.

    Raises:
        InvalidInput: There is no repository or remote, or a link leads out of the folder.
        OtherCommit: The remote has another commit.
        GitFailed: Git failed, or did not answer in time.
    """
    git = Git.find(root)
    if git is None:
        raise InvalidInput("open_pull_requests", str(root), "requires a git repository")
    url = _remote(git, field="open_pull_requests")
    with git.without_configuration() as bare:
        network = _network(bare, url, token)
        with suppress(GitFailed):  # nothing is checked out
            network.run("update-ref", _HAVE, git.run("rev-parse", "--verify", "HEAD").decode().strip())
        network.run(*_FETCH, url, f"+refs/{ref}:{_FETCHED}", f"+refs/heads/{base}:{_BASE}")
        fetched, tip = network.run("rev-parse", _FETCHED, _BASE).decode().split()
    if fetched != head:
        raise OtherCommit(head, fetched)
    with TemporaryDirectory(prefix="symposia-pull-") as name:
        tree = Path(name).resolve()
        (git_dir := tree / ".git").mkdir()
        git.create_empty(git_dir, head=head)
        (git_dir / "objects" / "info").mkdir()
        (git_dir / "objects" / "info" / "alternates").write_text(f"{git.path_of('objects').resolve()}\n")
        checkout = Git(git_dir, tree, tree)
        checkout.run("config", "remote.origin.url", url)
        checkout.run("read-tree", "-m", "-u", head)
        folder = tree / git.folder.relative_to(git.work_tree)
        if folder.resolve() != folder:
            raise InvalidInput("root", str(root), "must be a folder without links in the pull request")
        yield CheckedOutPull(folder, tip)


def _remote(git: Git, *, field: str) -> str:
    """Return the address of the remote without a name and password. Raises InvalidInput."""
    with suppress(GitFailed):
        given = git.run("config", "--local", "--no-includes", "--get", "remote.origin.url").decode().strip()
        parts = urlsplit(given)
        if parts.scheme in _SCHEMES and ":" not in parts.path.partition("/")[0] and not given.startswith("-"):
            return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))
    raise InvalidInput(field, None, "requires a remote `origin` with an address that begins with https://")


def _network(git: Git, url: str, token: str | None) -> Git:
    """Return the repository with the environment of a fetch."""
    settings = {"http.followRedirects": "false", "http.lowSpeedLimit": "1000", "http.lowSpeedTime": "30"}
    if token and urlsplit(url).scheme in _WITH_TOKEN:
        credentials = base64.b64encode(f"x-access-token:{token}".encode()).decode()
        settings[f"http.{url}.extraHeader"] = f"Authorization: Basic {credentials}"
    variables = {"GIT_CONFIG_COUNT": str(len(settings)), "GIT_ALLOW_PROTOCOL": "https:http:file"}
    for number, (name, value) in enumerate(settings.items()):
        variables |= {f"GIT_CONFIG_KEY_{number}": name, f"GIT_CONFIG_VALUE_{number}": value}
    return Git(git.git_dir, git.work_tree, git.folder, {**git.extra_environment, **variables})


def _refuse_local_commits(git: Git, old: str, new: str, branch: str) -> None:
    """Raise InvalidInput if the remote does not have the checked-out commit."""
    try:
        git.run("merge-base", "--is-ancestor", old, new)
    except GitFailed:
        rule = "must be behind its remote: it has local commits, or the remote was rewritten"
        raise InvalidInput("update", branch, rule) from None


def _checked_out_tree(git: Git, old: str, new: str, branch: str) -> str:
    """Return the tree of the index: of the old commit, or of a later one if an update was killed before its end.

    Raises InvalidInput: the work tree has local changes.
    """
    tree = git.run("write-tree").decode().strip()
    trees = git.run("log", "--format=%T", f"{old}..{new}") + git.run("rev-parse", f"{old}^{{tree}}")
    is_changed = git.names("diff", "--name-only", "-z", "--no-ext-diff", "--no-textconv")
    if is_changed or tree not in trees.decode().split():
        raise InvalidInput("update", branch, "requires a work tree without local changes")
    return tree
