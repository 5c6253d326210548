"""`Client.reply_to_review_comment` and decisions, with an agent that answers in this process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from review_tools.pulls import HEAD, NUMBER, PATCH, a_reviewed_pull, destinations, on_line, payload
from servers.code_hosts.github import GitHub, Pull
from servers.code_hosts.json_server import TOKEN
from symposia import LocalClient
from symposia.models.errors import InvalidInput
from symposia.reviews.delivery.hosts.replies import ReplyAction


@pytest.fixture
def github() -> Iterator[GitHub]:
    server = GitHub()
    server.commits[HEAD] = []
    server.pulls[NUMBER] = Pull(HEAD, {"app.py": PATCH})
    entry = {"kind": "github", "api_url": server.url, "repository": "example/shop", "token_env": "HOST_TOKEN"}
    pulls = destinations(TOKEN, pulls={**entry, "networks": ["127.0.0.0/8"]})
    pulls.deliver("pulls", payload(a_reviewed_pull(on_line(2, "S105"))))
    yield server
    server.close()


def test_agent_answers_and_decisions_are_stored(
    github: GitHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def house(turn: Any) -> str:
        return "It is read." if "Who reads it?" in str(turn) else "no question"

    monkeypatch.setenv("HOST_TOKEN", TOKEN)
    file = tmp_path / "deliveries.toml"
    file.write_text(
        f'[pulls]\nkind = "github"\nrepository = "example/shop"\napi_url = "{github.url}"\n'
        'token_env = "HOST_TOKEN"\nnetworks = ["127.0.0.0/8"]\n'
    )
    (thread,) = github.pulls[NUMBER].threads
    with LocalClient({"house": house}, deliveries_file=file) as client:
        asked = client.reply_to_review_comment(
            github.answer(thread, "ann", "Who reads it?"), deliver="pulls", model="house"
        )
        assert (asked.action, asked.detail) == (ReplyAction.ANSWERED, "It is read.")
        assert thread["answers"][-1]["body"].startswith("It is read.\n")
        client.reply_to_review_comment(github.answer(thread, "ann", "Not a bug"), deliver="pulls")
        (decision,) = client.review_decisions("https://git.example.com/example/shop")
        assert client.review_decisions("https://git.example.com/example/other") == []
        client.forget_review_decision(decision.id)
        assert client.review_decisions() == []
        other = client.reply_to_review_comment({"action": "opened", "repository": {}}, deliver="pulls")
        assert other.action is ReplyAction.NOTHING


def test_deliveries_file_of_the_working_folder_is_not_read() -> None:
    with LocalClient() as client, pytest.raises(InvalidInput, match="must be set: SYMPOSIA_DELIVERIES_FILE"):
        client.reply_to_review_comment({}, deliver="pulls")
