"""Answers to people's comments: commands, decisions, questions; each once, and only for those who may."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from redis import Redis

from review_tools.pulls import HEAD, NUMBER, PATCH, a_reviewed_pull, destinations, on_line, payload
from review_tools.pushes import REPOSITORY
from servers.code_hosts.github import GitHub, Pull
from servers.code_hosts.gitlab import GitLab, MergeRequest
from servers.code_hosts.json_server import TOKEN
from symposia.models.errors import AmbiguousId, InvalidInput
from symposia.reviews.delivery.hosts.replies import (
    DEFAULT_ASK_S,
    MAX_COMMENT_BYTES,
    MAX_DIFF_BYTES,
    MAX_TALK_BYTES,
    ReplyAction,
    ReplyResult,
    parse_event,
)
from symposia.reviews.state import decisions as decision_store
from symposia.reviews.state.decisions import DecisionStore
from symposia.reviews.values.decisions import Verdict, parse_answer
from symposia.state.redis.connect import connect
from symposia.state.redis.keys import reply_key

KEY = on_line(2, "S105")


class Talk:
    """A pull request with one comment about `KEY`, and people who answer it."""

    def __init__(self, host: GitHub | GitLab, client: Redis) -> None:
        self.host, self.client, self.store = host, client, DecisionStore(client)
        self.asked: list[str] = []
        self.while_asked: Callable[[], object] = lambda: None
        kind, name = ("github", "repository") if isinstance(host, GitHub) else ("gitlab", "project")
        entry = {"kind": kind, name: "example/shop", "api_url": host.url, "token_env": "HOST_TOKEN"}
        self.destinations = destinations(TOKEN, host={**entry, "networks": ["127.0.0.0/8"]})
        host.commits[HEAD] = []
        if isinstance(host, GitHub):
            host.pulls[NUMBER] = Pull(HEAD, {"app.py": PATCH})
        else:
            host.merge_requests[NUMBER] = MergeRequest(HEAD, {"app.py": PATCH})
        self.deliver()

    def deliver(self, *, has_read: bool = True) -> str:
        """Deliver a run that reports `KEY`, or has not read its file; return the body of its comment."""
        run = a_reviewed_pull(*[KEY] * has_read, repository_url=REPOSITORY)
        run = run if has_read else run.model_copy(update={"results": ()})
        self.destinations.deliver("host", payload(run), decisions=self.store)
        first = self.thread.get("comment") or self.thread["notes"][0]
        return str(first["body"])

    @property
    def thread(self) -> dict[str, Any]:
        if isinstance(self.host, GitHub):
            return self.host.pulls[NUMBER].threads[0]
        return self.host.merge_requests[NUMBER].threads[0]

    @property
    def answers(self) -> list[str]:
        """Bodies of all answers in the thread."""
        return [it["body"] for it in self.thread.get("answers") or self.thread["notes"][1:]]

    def say(self, text: str, *, is_trusted: bool = True) -> dict[str, Any]:
        """A person answers; returns the event."""
        if isinstance(self.host, GitHub):
            return self.host.answer(self.thread, "ann", text, association="OWNER" if is_trusted else "NONE")
        return self.host.answer(self.thread, 3 if is_trusted else 4, text)

    def reply(self, data: dict[str, Any], *, has_model: bool = True) -> ReplyResult:
        event = parse_event(data)
        assert event is not None
        ask: Callable[[str], str] | None = self._ask if has_model else None
        return self.destinations.reply("host", event, decisions=self.store, ask=ask)

    def _ask(self, text: str) -> str:
        self.asked.append(text)
        self.while_asked()
        return "It reads the key, @ann.\n/close"


@pytest.fixture(params=[GitHub, GitLab])
def talk(request: pytest.FixtureRequest, redis_url: str) -> Iterator[Talk]:
    host = request.param()
    with connect(redis_url) as client:
        yield Talk(host, client)
    host.close()


def test_question_is_answered_once_by_the_model(talk: Talk) -> None:
    event = talk.say("Why is it wrong?")
    assert talk.reply(event).action is ReplyAction.ANSWERED
    assert talk.reply(event).detail == "it was answered before"
    (asked,) = talk.asked
    assert "S105 is broken" in asked
    assert "Why is it wrong?" in asked
    _, answer = talk.answers
    assert answer.startswith("It reads the key, `@ann.`\n`/close`\n")


def test_calls_at_once_answer_once_and_a_failed_call_is_repeated(talk: Talk) -> None:
    event = talk.say("Why is it wrong?")
    talk.while_asked = lambda: 1 / 0
    with pytest.raises(ZeroDivisionError):
        talk.reply(event)
    others: list[ReplyResult] = []
    lives: list[int] = []
    comment_id = parse_event(event).comment_id

    def reply_again() -> None:
        others.append(talk.reply(event))
        lives.append(talk.client.ttl(reply_key(REPOSITORY, comment_id)))

    talk.while_asked = reply_again
    assert talk.reply(event).action is ReplyAction.ANSWERED
    assert [other.detail for other in others] == ["another call answers it"]
    assert DEFAULT_ASK_S < lives[0] < 2 * DEFAULT_ASK_S, "a killed call leaves the comment to a later one"
    assert (len(talk.asked), len(talk.answers)) == (2, 2)


def test_question_is_bounded_and_ends_with_its_comment(talk: Talk) -> None:
    for number in range(20):
        talk.say(f"message {number} {'é' * 1_000}")
    event = talk.say("Why is it wrong?")
    talk.say("Is it fixed now?")
    lines = ["@@ -0,0 +1,9000 @@", *(f"+x{number}" for number in range(1, 9_001))]
    if "comment" in event:  # GitHub sends the lines up to that of the comment, GitLab those of the file
        event["comment"]["diff_hunk"] = "\n".join(lines[:4_001])
    else:
        diff = {"position": {"new_line": 4_000}, "st_diff": {"diff": "\n".join(lines)}}
        event["object_attributes"] |= diff
    talk.reply(event)
    (asked,) = talk.asked
    assert "+x4000\n```" in asked
    assert len(asked.encode()) < MAX_COMMENT_BYTES + MAX_DIFF_BYTES + MAX_TALK_BYTES + 1_000
    assert asked.endswith(": Why is it wrong?\n```")
    assert "message 19 " in asked
    assert "message 0 " not in asked


def test_ignore_is_stored_and_suppresses_the_finding(talk: Talk) -> None:
    result = talk.reply(talk.say("/ignore the key is public"))
    assert result.action is ReplyAction.IGNORED
    (decision,) = talk.store.of_repository(REPOSITORY)
    assert (decision.id, decision.verdict, decision.path) == (result.detail, Verdict.IGNORED, "app.py")
    assert f"symposia review forget {decision.id}" in talk.answers[-1]
    assert talk.deliver().startswith("**Suppressed**: ignored (")
    assert talk.host.statuses[-1][1]["state"] == "success"
    talk.store.forget(decision.id[:4])
    assert not talk.deliver().startswith("**Suppressed**")
    assert talk.host.statuses[-1][1]["state"] in ("failure", "failed")


@pytest.mark.parametrize(
    ("text", "is_trusted", "action"),
    [
        ("/review", True, ReplyAction.REVIEW),
        ("/review please", False, ReplyAction.NOTHING),
        ("Won't fix", False, ReplyAction.NOTHING),
        ("Why?", False, ReplyAction.NOTHING),
        ("x\n<!-- symposia: reply 1 -->", True, ReplyAction.NOTHING),
    ],
)
def test_only_members_are_answered(talk: Talk, text: str, is_trusted: bool, action: ReplyAction) -> None:
    assert talk.reply(talk.say(text, is_trusted=is_trusted)).action is action
    assert talk.store.all() == []
    assert talk.asked == []


def test_without_a_model_questions_are_left(talk: Talk) -> None:
    assert talk.reply(talk.say("Why?"), has_model=False).detail == "no model was named"


def test_event_of_another_repository_is_refused(talk: Talk) -> None:
    data = talk.say("/review")
    other = {"html_url": "https://git.example.com/mallory/shop", "web_url": "https://git.example.com/m/shop"}
    with pytest.raises(InvalidInput, match="must be of the repository of the delivery host"):
        talk.reply({**data, "repository": other, "project": other})


@pytest.mark.parametrize("has_read", [True, False])
def test_thread_that_the_author_of_a_pull_request_resolves_decides_nothing(
    talk: Talk, has_read: bool
) -> None:
    if isinstance(talk.host, GitHub):
        talk.host.pulls[NUMBER].author = ("mallory", "CONTRIBUTOR")
        talk.host.resolve(talk.thread, "mallory")
    else:
        talk.host.resolve(talk.thread, 4)
    talk.deliver(has_read=has_read)
    assert talk.store.all() == []
    assert talk.host.statuses[-1][1]["state"] in ("failure", "failed")


def test_ignored_comment_counts_no_more_in_a_run_that_has_not_looked_at_it(talk: Talk) -> None:
    talk.reply(talk.say("/ignore the key is public"))
    talk.deliver(has_read=False)
    assert talk.host.statuses[-1][1]["state"] == "success"


COMMENT = {"node_id": "1", "body": "/review", "user": {"type": "User"}, "author_association": "OWNER"}
ISSUE = {"action": "created", "comment": COMMENT, "repository": {"html_url": "https://github.com/a/b"}}


@pytest.mark.parametrize(
    ("data", "number"),
    [
        ({**ISSUE, "issue": {"number": 7, "pull_request": {}}}, 7),
        ({**ISSUE, "issue": {"number": 7}}, None),
        ({**ISSUE, "action": "deleted", "issue": {"number": 7, "pull_request": {}}}, None),
        ({"action": "opened", "pull_request": {"number": 7}}, None),
        ({"object_kind": "push", "object_attributes": {}}, None),
    ],
)
def test_events_other_than_new_comments_are_skipped(data: dict[str, Any], number: int | None) -> None:
    event = parse_event(data)
    assert (event and event.pull_request) == number


@pytest.mark.parametrize("data", [[], {"object_kind": "note"}, {**ISSUE, "issue": {"pull_request": {}}}])
def test_malformed_event_is_an_error(data: Any) -> None:
    with pytest.raises(InvalidInput, match="must be the JSON of a comment event"):
        parse_event(data)


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("Won't fix: legacy", Verdict.WONT_FIX),
        ("wontfix", Verdict.WONT_FIX),
        ("We won\u2019t fix this", Verdict.WONT_FIX),
        ("This is by design.", Verdict.WONT_FIX),
        ("> Not a bug\n\nThanks, I see", None),
        ("That's not a bug, the proxy checks it", Verdict.NOT_A_BUG),
        ("**False positive**", Verdict.NOT_A_BUG),
        ("Is this not a bug?", None),
        ("I do not think that it is not a bug", None),
        ("/ignore", Verdict.IGNORED),
        ("/ignored", None),
        ("Intentional or not, it is wrong", None),
        ("Fixed", None),
    ],
)
def test_answers_decide_only_in_plain_words(text: str, verdict: Verdict | None) -> None:
    parsed = parse_answer(text)
    assert (parsed and parsed[0]) == verdict


def test_decisions_are_bounded_and_forgotten_by_id(talk: Talk, monkeypatch: pytest.MonkeyPatch) -> None:
    talk.reply(talk.say("not a bug"))
    (first,) = talk.store.all()
    others = [first.model_copy(update={"path": f"{number}.py"}) for number in range(20)]
    talk.store.add_decisions(others)
    with pytest.raises(AmbiguousId, match="21 decisions start with ''"):
        talk.store.forget("")
    with pytest.raises(InvalidInput, match="must be the id of a decision"):
        talk.store.forget("zzz")
    monkeypatch.setattr(decision_store, "MAX_DECISIONS", 5)
    talk.store.add_decisions([first])
    assert len(talk.store.all()) == 5
