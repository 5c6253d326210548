"""Reviews: the program and the panels of docs/reviews.md on a worker."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import replace

import pytest

from documents.pages import Page
from documents.programs import run_program
from live import until
from processes.terminal import Terminal
from review_tools.git_tree import GitTree
from servers.code_hosts.github import GitHub, Pull
from servers.code_hosts.json_server import TOKEN
from symposia.reviews.panels import find_panel

#: They start a worker, and a process for each program.
pytestmark = pytest.mark.timeout(180)

PAGE = Page("docs/reviews.md")
PROGRAM = PAGE.take("python", "pull_request=5")
HOUSE = PAGE.take("toml", 'mode = "orchestrated"')
RULES = PAGE.take("toml", "review_rules")
TOOLS = PAGE.take("toml", "[[code.tools]]")
HADOLINT = PAGE.take("toml", "[agents.hadolint]")
VERIFIER = PAGE.take("toml", 'role = "verifier"')

HEAD, FIRST_SEAT, SEATS = HOUSE.partition("[[house.seats]]")
#: The page shows three parts of one panel.
PANEL = HEAD + RULES.removeprefix("[house]\n") + FIRST_SEAT + SEATS + VERIFIER
#: A panel of the added tool.
DOCKER = """
[docker]
mode = "orchestrated"
purpose = "Find what is wrong with it."
seats = [{name = "judge", agent = "judge", role = "orchestrator"}]
tools = [{agent = "hadolint", files = ["Dockerfile"]}]
"""
AGENTS = """
[agents.second-model]
kind = "scripted"
replies = ['{"verdicts": [], "findings": []}']
"""
#: Prints a finding as the program does.
PROGRAM_OF_TOOL = """#!/bin/sh
test "$1" = --format=sarif && grep -q ":latest" "$2" && cat <<END
{"version": "2.1.0", "runs": [{"tool": {"driver": {"name": "hadolint"}}, "results": [{"ruleId": "DL3007",
"level": "warning", "message": {"text": "Using latest is prone to errors."}, "locations": [{"physicalLocation":
{"artifactLocation": {"uri": "Dockerfile"}, "region": {"startLine": 1}}}]}]}]}
END
"""


def test_shown_tool_is_a_tool_of_the_panel() -> None:
    (shown,) = tomllib.loads(TOOLS)["code"]["tools"]
    assert shown in [
        it.model_dump(mode="json", include={"agent", "files"}) for it in find_panel("code").tools
    ]


@pytest.fixture(scope="module")
def github() -> Iterator[GitHub]:
    server = GitHub()
    yield server
    server.close()


@pytest.fixture(scope="module")
def variables() -> dict[str, str]:
    return {"HOST_TOKEN": TOKEN}


@pytest.fixture(scope="module")
def files(github: GitHub) -> dict[str, str]:
    return {
        "agents.toml": HADOLINT + AGENTS,
        "panels.toml": PANEL + DOCKER,
        "deliveries.toml": (
            f'[pulls]\nkind = "github"\nrepository = "example/shop"\napi_url = "{github.url}"\n'
            'token_env = "HOST_TOKEN"\nnetworks = ["127.0.0.0/8"]\n'
        ),
        "bin/hadolint": PROGRAM_OF_TOOL,
        "images/Dockerfile": "FROM debian:latest\n",
        "images/app.py": "print('hello')\n",
    }


@pytest.mark.long
def test_program_reviews_a_change_for_a_pull_request(terminal: Terminal, github: GitHub) -> None:
    tree = GitTree(terminal.folder / "shop")
    tree.put("src/app.py", "def load(text):\n    return text\n")
    tree.commit()
    tree.git("checkout", "--quiet", "-b", "topic")
    tree.put("src/app.py", "def load(text):\n    return eval(text)\n")
    head = tree.commit()
    diff = tree.git("diff", "main", head)
    github.commits[head] = []
    github.pulls[5] = Pull(head, {"src/app.py": diff[diff.index("@@") :]})
    said = run_program(replace(terminal, folder=tree.folder), PROGRAM).splitlines()
    assert said[-1].startswith("src/app.py:2")
    until(lambda: bool(github.pulls[5].threads), what="the finding is a comment")


@pytest.mark.long
def test_panels_of_the_page_review_files(terminal: Terminal) -> None:
    said = run_program(
        terminal,
        """
        from symposia import Client

        for panel in ("house", "docker"):
            run = Client().review("images", panel=panel).result(timeout=50)
            print(run.state, [(it.place, it.message) for it in run.findings])
        """,
    )
    assert said.splitlines() == [
        "completed []",
        "completed [('images/Dockerfile:1', 'Using latest is prone to errors.')]",
    ]
