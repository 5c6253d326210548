"""The recipes for CI of docs/reviews.md: their commands run as the code hosts run them."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from documents.pages import Page
from documents.shell import run_in_shell
from processes.terminal import Terminal
from review_tools.git_tree import GitTree
from servers.code_hosts.github import GitHub, Pull
from servers.code_hosts.gitlab import GitLab, MergeRequest
from servers.code_hosts.json_server import TOKEN

pytestmark = [pytest.mark.long, pytest.mark.timeout(300), pytest.mark.leaves_keys]

NUMBER = 5
PAGE = Page("docs/reviews.md")
ACTIONS = yaml.safe_load(PAGE.take("yaml", "runs-on:"))
GITLAB_CI = yaml.safe_load(PAGE.take("yaml", "image: python"))
REPOSITORY = {"html_url": "https://github.com/example/shop"}
#: Words of the recipes that are other ones on this machine.
LOCAL = {'token_env = "': 'networks = ["127.0.0.0/8"]\ntoken_env = "'}


@pytest.fixture(params=[GitHub, GitLab])
def host(request: pytest.FixtureRequest) -> Iterator[GitHub | GitLab]:
    server = request.param()
    yield server
    server.close()


@pytest.fixture
def checkout(tmp_path: Path, host: GitHub | GitLab, terminal: Terminal) -> GitTree:
    """A clone of the repository with the branch of a pull request, which has a defect."""
    origin = GitTree(tmp_path / "origin")
    origin.put("app.py", "def load(text):\n    return text\n")
    origin.commit()
    origin.git("clone", "--quiet", str(origin.folder), str(tmp_path / "checkout"))
    tree = GitTree(tmp_path / "checkout")
    tree.git("checkout", "--quiet", "-b", "topic")
    tree.put("app.py", "def load(text):\n    return eval(text)\n")
    head = tree.commit()
    diff = tree.git("diff", "origin/main", head)
    files = {"app.py": diff[diff.index("@@") :]}
    host.commits[head] = []
    if isinstance(host, GitHub):
        host.pulls[NUMBER] = Pull(head, dict(files))
    else:
        host.merge_requests[NUMBER] = MergeRequest(head, files)
    del terminal.settings["agents_file"]
    terminal.folder = tree.folder
    return tree


def run(
    terminal: Terminal, lines: list[str], variables: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    """Run the lines of a job in one shell, without installing Symposia."""
    text = "set -e\n" + "\n".join(line for line in lines if not line.startswith("pip install"))
    for shown, typed in LOCAL.items():
        text = text.replace(shown, typed)
    return run_in_shell(terminal, text, variables)


def test_recipe_reviews_and_replies(
    host: GitHub | GitLab, checkout: GitTree, terminal: Terminal, tmp_path: Path
) -> None:
    job = run_on_github if isinstance(host, GitHub) else run_on_gitlab
    done = job(host, terminal, tmp_path, {"action": "opened"})
    assert done.returncode == 0, done
    pull = host.pulls[NUMBER] if isinstance(host, GitHub) else host.merge_requests[NUMBER]
    (thread,) = pull.threads
    assert any(
        "closes_issues" in f"{path} {body}".replace("closingIssuesReferences", "closes_issues")
        for _, path, body in host.requests
    )
    if isinstance(host, GitLab):
        return
    assert host.checks[0]["output"]["annotations"][0]["path"] == "app.py"
    # A comment asks for nothing, a member decides, and /review reviews again.
    event = host.answer(thread, "ann", "Why?")
    assert job(host, terminal, tmp_path, event).stdout.strip() == "nothing no model was named"
    event = host.answer(thread, "ann", "Not a bug")
    assert job(host, terminal, tmp_path, event).stdout.startswith("ignored ")
    event = host.answer(thread, "ann", "/review")
    done = job(host, terminal, tmp_path, event)
    assert done.stdout.startswith("review 5"), done
    assert thread["comment"]["body"].startswith("**Suppressed**: not a bug (ann, pull request 5).")
    assert host.checks[-1]["conclusion"] == "success"


def run_on_github(
    host: GitHub, terminal: Terminal, folder: Path, event: dict[str, Any]
) -> subprocess.CompletedProcess[str]:
    """Run the steps of the workflow for an event."""
    (folder / "event.json").write_text(json.dumps({**event, "repository": REPOSITORY}))
    variables = {
        "GITHUB_TOKEN": TOKEN,
        "GITHUB_REPOSITORY": "example/shop",
        "GITHUB_API_URL": host.url,
        "GITHUB_EVENT_NAME": "pull_request_review_comment" if "comment" in event else "pull_request",
        "GITHUB_EVENT_PATH": str(folder / "event.json"),
        "GITHUB_ENV": str(folder / "github_env"),
        "RUNNER_TEMP": str(folder),
        "NUMBER": str(NUMBER),
        "BASE": "main",
    }
    *_, settings, last = [step["run"] for step in ACTIONS["jobs"]["review"]["steps"] if "run" in step]
    assert run(terminal, settings.splitlines(), variables).returncode == 0
    added = dict(line.split("=", 1) for line in (folder / "github_env").read_text().splitlines())
    return run(terminal, last.splitlines(), {**variables, **added})


def run_on_gitlab(
    host: GitLab, terminal: Terminal, folder: Path, _: object
) -> subprocess.CompletedProcess[str]:
    """Run the script of the job."""
    job = GITLAB_CI["review"]
    variables = {
        **job["variables"],
        "SYMPOSIA_DELIVERIES_FILE": str(folder / "deliveries.toml"),
        "GITLAB_TOKEN": TOKEN,
        "CI_PROJECT_PATH": "example/shop",
        "CI_API_V4_URL": host.url,
        "CI_MERGE_REQUEST_TARGET_BRANCH_NAME": "main",
        "CI_MERGE_REQUEST_IID": str(NUMBER),
    }
    return run(terminal, [line for part in job["script"] for line in part.splitlines()], variables)
