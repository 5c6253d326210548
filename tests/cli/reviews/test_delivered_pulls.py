"""`symposia review --deliver` on real processes: a pull request of the test server gets what was found."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from live import LiveWorker, until
from processes.terminal import Terminal
from review_tools.git_tree import GitTree
from servers.code_hosts.github import GitHub, Pull
from servers.code_hosts.json_server import TOKEN
from symposia.state.presence import WorkerPresence
from symposia.state.redis.connect import connect
from symposia.state.redis.keys import DELIVERIES

NUMBER = 5
OLD = "def load(text):\n    return text\n"
#: Defects of the branch: an `eval` on line 5, an unused import on line 1.
NEW = "import os\n\n\ndef load(text):\n    return eval(text)\n"
FIXED = "def load(text):\n    return eval(text)\n"


@pytest.fixture
def github() -> Iterator[GitHub]:
    server = GitHub()
    yield server
    server.close()


@pytest.fixture
def tree(tmp_path: Path) -> GitTree:
    tree = GitTree(tmp_path / "checkout")
    tree.put("services/shop/app.py", OLD)
    tree.commit()
    tree.git("checkout", "--quiet", "-b", "topic")
    return tree


@pytest.fixture
def pulls(terminal: Terminal, github: GitHub, monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """A terminal whose workers deliver to the pull requests of the test server."""
    file = terminal.folder / "deliveries.toml"
    file.write_text(
        f'[pulls]\nkind = "github"\nrepository = "example/shop"\napi_url = "{github.url}"\n'
        'token_env = "HOST_TOKEN"\nnetworks = ["127.0.0.0/8"]\n'
    )
    terminal.settings |= {"deliveries_file": str(file), "archive": "true"}
    del terminal.settings["agents_file"]
    monkeypatch.setenv("HOST_TOKEN", TOKEN)
    monkeypatch.delenv("GITHUB_REF", raising=False)
    (terminal.folder / "data").mkdir(exist_ok=True)
    return terminal


def push(github: GitHub, tree: GitTree, text: str) -> str:
    """Commit a text of the file, and push it to the pull request."""
    tree.put("services/shop/app.py", text)
    head = tree.commit()
    github.commits[head] = []
    diff = tree.git("diff", "main", head)
    files = {"services/shop/app.py": diff[diff.index("@@") :]}
    if NUMBER in github.pulls:
        github.pulls[NUMBER].push(head, dict(files))
    else:
        github.pulls[NUMBER] = Pull(head, dict(files))
    return head


def worker_of(terminal: Terminal, name: str) -> LiveWorker:
    """Start a worker; the caller closes it."""
    worker = LiveWorker(name, terminal.folder, terminal.environment, app="symposia.workers", concurrency=4)
    redis = connect(terminal.settings["redis_url"])
    until(lambda: any(name in it.name for it in WorkerPresence(redis).list_alive()), what="a worker is there")
    return worker


def review(terminal: Terminal, tree: GitTree, *options: str):
    folder = tree.folder / "services" / "shop"
    arguments = ("review", "--base", "main", "--deliver", "pulls", "--fail-on", "never", str(folder))
    return terminal.start(*arguments, *options).ended(timeout_s=80)


def open_places(pull: Pull) -> list[tuple[str, int]]:
    return sorted((it["path"], it["line"]) for it in pull.threads if not it["isResolved"])


@pytest.mark.long
@pytest.mark.timeout(200)
@pytest.mark.leaves_keys
def test_pull_request_has_what_was_found_after_three_runs(pulls, github, tree, monkeypatch):
    head = push(github, tree, NEW)
    worker = worker_of(pulls, "w1")
    said = review(pulls, tree, "--pull-request", str(NUMBER))
    assert said.code == 0, said
    monkeypatch.setenv("GITHUB_REF", f"refs/pull/{NUMBER}/merge")
    for _ in range(2):
        assert review(pulls, tree).code == 0
    pull = github.pulls[NUMBER]
    found = open_places(pull)
    assert {("services/shop/app.py", 1), ("services/shop/app.py", 5)} <= set(found)
    assert len(found) == len(set(found)) == len(pull.threads)
    assert len(pull.comments) == 1
    assert {(sha, it["state"]) for sha, it in github.statuses} == {(head, "failure")}

    push(github, tree, FIXED)
    assert review(pulls, tree).code == 0
    assert open_places(pull) == [("services/shop/app.py", 2)]
    gone = [it["comment"]["body"] for it in pull.threads if it["isResolved"]]
    assert gone
    assert all(it.startswith("**No longer reported**") for it in gone)
    assert len(pull.comments) == 1
    assert TOKEN not in worker.log()
    worker.close()


@pytest.mark.long
@pytest.mark.timeout(200)
@pytest.mark.leaves_keys
def test_killed_worker_leaves_no_duplicates(pulls, github, tree):
    push(github, tree, NEW)
    first = worker_of(pulls, "w1")
    killed = threading.Event()

    def kill(_: int) -> None:
        if not killed.is_set():
            killed.set()
            first.kill()

    github.stored = kill
    arguments = (
        "review",
        "--base",
        "main",
        "--deliver",
        "pulls",
        "--fail-on",
        "never",
        "--merge-request",
        "5",
    )
    running = pulls.start(*arguments, str(tree.folder / "services" / "shop"))
    until(killed.is_set, timeout_s=60, what="a worker is killed")
    second = worker_of(pulls, "w2")
    with connect(pulls.settings["redis_url"]) as client:
        for text in client.zrange(DELIVERIES, 0, -1):
            client.zadd(DELIVERIES, {text: 0})  # 15 minutes later
    said = running.ended(timeout_s=60)
    assert said.code == 0, said
    pull = github.pulls[NUMBER]
    assert len(pull.comments) == 1
    assert {("services/shop/app.py", 1), ("services/shop/app.py", 5)} <= set(open_places(pull))
    assert len(open_places(pull)) == len(set(open_places(pull)))
    second.close()
    first.close()


@pytest.mark.long
@pytest.mark.timeout(150)
@pytest.mark.leaves_keys
def test_failed_delivery_fails_the_command(pulls, github, tree, monkeypatch):
    push(github, tree, NEW)
    monkeypatch.setitem(os.environ, "HOST_TOKEN", "ghp_an-invalid-one")
    worker = worker_of(pulls, "w1")
    said = review(pulls, tree, "--pull-request", str(NUMBER))
    assert said.code == 1
    assert "Delivery failed:" in said.err
    assert "the token in HOST_TOKEN is not valid" in said.err
    assert "ghp_an-invalid-one" not in said.out + said.err + worker.log()
    worker.close()
