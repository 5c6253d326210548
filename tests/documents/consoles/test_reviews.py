"""The console lines of docs/reviews.md, in a checkout whose branch has a defect."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from documents.installation import Installation, installed
from documents.lines import ROOT
from documents.walk import Walk
from live import until
from processes.terminal import Running
from review_tools.git_tree import GitTree
from servers.code_hosts.github import GitHub, Pull
from servers.code_hosts.gitlab import GitLab, MergeRequest
from servers.code_hosts.json_server import TOKEN
from servers.model_stub import StubModel, completion
from symposia.reviews.state.decisions import DecisionStore
from symposia.reviews.values.decisions import Decision
from symposia.reviews.values.identity import FindingIdentity
from symposia.state.redis.connect import connect

pytestmark = [pytest.mark.long, pytest.mark.timeout(400), pytest.mark.leaves_keys]

NUMBER = 5
MODEL = """
[models.stub]
model = "stub-model"
base_url = "{url}"
stream = false
price = {{ input = 0, output = 0 }}

[agents.house]
kind = "llm"
model = "stub"

[agents.local]
kind = "llm"
model = "stub"
"""
DELIVERIES = """
[pulls]
kind = "github"
repository = "example/shop"
api_url = "{github}"
token_env = "HOST_TOKEN"
networks = ["127.0.0.0/8"]

[merges]
kind = "gitlab"
project = "example/shop"
api_url = "{gitlab}"
token_env = "HOST_TOKEN"
networks = ["127.0.0.0/8"]
"""
CODE = "def load(text):\n    return text\n"


@pytest.fixture
def github() -> Iterator[GitHub]:
    server = GitHub()
    yield server
    server.close()


@pytest.fixture
def gitlab() -> Iterator[GitLab]:
    server = GitLab()
    yield server
    server.close()


@pytest.fixture
def model() -> Iterator[StubModel]:
    with StubModel() as model:
        model.answers(completion(json.dumps({"findings": [], "summary": "looked"})))
        yield model


@pytest.fixture
def tree(tmp_path: Path, github: GitHub, gitlab: GitLab) -> GitTree:
    """A checkout of the branch of a pull request, without findings."""
    tree = GitTree(tmp_path / "shop")
    tree.put("src/app.py", CODE)
    tree.put("docs/page.md", "# Doors\n\nClose the door.\n")
    tree.commit()
    tree.git("checkout", "--quiet", "-b", "topic")
    tree.put("src/app.py", f"{CODE}\n\ndef store(text):\n    return text\n")
    head = tree.commit()
    diff = tree.git("diff", "main", head)
    patch = diff[diff.index("@@") :]
    github.commits[head] = gitlab.commits[head] = []
    github.pulls[NUMBER] = Pull(head, {"src/app.py": patch})
    gitlab.merge_requests[NUMBER] = MergeRequest(head, {"src/app.py": patch})
    return tree


@pytest.fixture
def checkout(
    tmp_path: Path,
    tree: GitTree,
    github: GitHub,
    gitlab: GitLab,
    model: StubModel,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Installation]:
    """An installation with a terminal in the checkout."""
    monkeypatch.setenv("HOST_TOKEN", TOKEN)
    (tmp_path / "deliveries.toml").write_text(DELIVERIES.format(github=github.url, gitlab=gitlab.url))
    agents = MODEL.format(url=model.url)
    (tmp_path / "agents.toml").write_text(agents)
    settings = {
        "deliveries_file": str(tmp_path / "deliveries.toml"),
        "review_roots": json.dumps({"shop": str(tree.folder)}),
    }
    with installed(tmp_path, agents=agents, **settings) as installation:
        installation.terminal.folder = tree.folder
        installation.terminal.settings["agents_file"] = str(tmp_path / "agents.toml")
        yield installation


def test_commands(checkout: Installation, github: GitHub) -> None:
    walk = Walk(checkout.terminal)
    shutil.copytree(ROOT / "examples/review_eval", checkout.folder / "review_eval")

    def begin() -> None:
        """Begin a review that no worker continues, in another terminal."""
        checkout.worker.freeze()
        known = list_reviews(checkout)
        reviews.append(checkout.terminal.start("review", "--all", "src"))
        (new,) = until(lambda: list_reviews(checkout) - known, what="a new review")
        walk.values["3f2a91c4"] = new[:8]

    def end() -> None:
        checkout.worker.thaw()
        assert "cancelled" in reviews[0].ended(timeout_s=60).out

    reviews: list[Running] = []
    walk.before = {
        "symposia review sessions": lambda: archive_tagged(checkout),
        "symposia review show": begin,
        "symposia review retry": end,
    }
    walk.values["examples/review_eval"] = str(checkout.folder / "review_eval")
    walk.follow("reviews.md", "Use it from the command line")
    assert github.pulls[NUMBER].comments


def list_reviews(installation: Installation) -> set[str]:
    return {it["id"] for it in installation.terminal.call("review", "list", "--json").json()}


def archive_tagged(installation: Installation) -> None:
    text = (ROOT / "examples/pair.yaml").read_text()
    (installation.folder / "tagged.yaml").write_text(f"{text}meta: {{tags: [support]}}\n")
    installation.wait_until_archived(
        installation.complete(installation.submit(str(installation.folder / "tagged.yaml")))
    )


def test_pull_requests(checkout: Installation, github: GitHub, gitlab: GitLab) -> None:
    Walk(checkout.terminal).follow("reviews.md", "Pull requests")
    assert github.pulls[NUMBER].comments
    assert gitlab.merge_requests[NUMBER].notes


def test_schedule_of_open_pull_requests(checkout: Installation) -> None:
    Walk(checkout.terminal).follow("schedules.md", "Open pull requests")
    assert checkout.terminal.call("schedule", "remove", "pulls").code == 0


def test_answers_of_people(checkout: Installation) -> None:
    identity = FindingIdentity(path="app.py", fingerprint="0" * 32, line=3, rule="s307")
    common = {"repository": "shop", "verdict": "not a bug", "by": "ann", "at": "2026-01-01T00:00:00Z"}
    decision = Decision.of(identity, "Use of `eval`", **common)
    with connect(checkout.terminal.settings["redis_url"]) as client:
        DecisionStore(client).add_decisions([decision])
    walk = Walk(checkout.terminal, values={"1f2e3d4c5b6a": decision.id})
    shown: list[str] = []
    walk.after = {"symposia review decisions": shown.append}
    walk.follow("reviews.md", "Answers of people")
    assert shown == [f"{decision.id}  shop  app.py:3  not a bug (ann): s307 Use of `eval`\n"]
    assert checkout.terminal.call("review", "decisions", "--json").json() == []


def test_evaluation(checkout: Installation, model: StubModel) -> None:
    page = (ROOT / "docs/reviews.md").read_text()
    (panel,) = re.findall(r"^```toml\n(\[house\]\nmode.*?)^```", page, re.DOTALL | re.MULTILINE)
    (checkout.terminal.folder / "panels.toml").write_text(panel)
    shutil.copytree(ROOT / "examples/review_eval", checkout.terminal.folder / "examples/review_eval")
    Walk(checkout.terminal).follow("reviews.md", "Evaluation")
    assert model.asked
