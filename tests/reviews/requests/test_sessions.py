"""Orders to review archived sessions: by a person, and at a set time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from sessions.archiving import archive_now
from sessions.table import Table
from symposia import Client
from symposia.config.settings import load_settings
from symposia.models.errors import InvalidInput, SessionNotFound, UnknownAgent
from symposia.models.protocol.base import Meta
from symposia.models.text.ids import new_id
from symposia.reviews.requests.files import request_for_sessions
from symposia.reviews.scheduled_reviews import ScheduledReview
from symposia.schedules.schedule import Schedule, ScheduleRun
from symposia.state.redis.connect import connect


@pytest.fixture
def client(redis_url: str, tmp_path: Path) -> Iterator[Client]:
    client = Client(load_settings(redis_url=redis_url, data_dir=tmp_path, archive=True))
    client.archive.prepare()
    yield client
    client.close()


@pytest.fixture
def made(client: Client, redis_url: str) -> list[str]:
    """Sessions that have ended, the oldest first."""
    with connect(redis_url) as redis:
        return [_archived(redis, client.archive, tag) for tag in ("mine", "other", "mine")]


def _archived(redis, archive, tag: str) -> str:
    table = Table(redis, opened=False)
    table.collab = table.collab.changed(meta=Meta(tags=[tag]))
    table.open(archived=True)
    table.speak(table.plan_one(), "It is is so.")
    table.finish()
    archive_now(archive, table)
    return table.id


def items(run) -> list[str]:
    return [it.item.path.removeprefix("session:") for it in run.results]


pytestmark = pytest.mark.leaves_keys


def test_archived_sessions_have_their_own_root(client, made):
    run = client.review_sessions().run()
    assert (run.root_name, run.panel) == ("archived sessions", "document")
    assert items(run) == made[::-1]


@pytest.mark.parametrize(
    ("how", "chosen"), [({"tag": "other"}, [1]), ({"newest": 2}, [2, 1]), ({"participant": "nobody"}, [])]
)
def test_sessions_are_selected_by_filter(client, made, how, chosen):
    assert items(client.review_sessions(**how).run()) == [made[it] for it in chosen]


def test_missing_session_starts_nothing(client, made):
    assert items(client.review_sessions(made[1]).run()) == [made[1]]
    with pytest.raises(SessionNotFound):
        client.review_sessions(made[1], new_id())
    assert len(client._installation.reviews.index.newest(count=5)) == 1


def test_code_panel_reviews_no_sessions(client, made):
    run = client.review_sessions(panel="code").run()
    assert (items(run), len(run.skipped)) == ([], 3)
    assert run.skipped[0].reason == "the panel does not review files of this name"


def test_invalid_input_starts_nothing(client):
    with pytest.raises(InvalidInput, match="sessions: require the archive, which is disabled"):
        request_for_sessions(archive=None)
    with pytest.raises(InvalidInput, match="panel: must be a panel"):
        client.review_sessions(panel="x")
    with pytest.raises(UnknownAgent, match="panel document"):
        request_for_sessions(archive=client.archive, known_agents=frozenset({"echo"}))


def test_scheduled_session_review_uses_the_run_id(client, made):
    schedule = Schedule.model_validate(
        {
            "name": "weekly",
            "when": {"cron": "@weekly"},
            "review": {"panel": "document", "sessions": {"tag": "mine", "newest": 1}, "deliver": ["team"]},
        }
    )
    assert schedule.description == "review archived sessions by document"
    occurrence = ScheduleRun(id=new_id(), due_ms=0)
    for _ in range(2):  # a second worker goes on with what the first began
        ScheduledReview(lambda: client._installation.reviews, {}).start(schedule, occurrence)
    run = client.get_review(occurrence.id).run()
    assert (run.root_name, items(run)) == ("archived sessions", [made[2]])
    assert client._installation.reviews.store.head(occurrence.id).then["deliver"] == ["team"]
