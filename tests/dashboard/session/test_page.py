"""The page of a session and its JSON, for a live session and for the archived one."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

import pytest

from live import result_of, until
from stub_agents.alignment import EXPERTS
from symposia.dashboard.views.visible import make_visible
from symposia.jobs.collab import CollabJob
from symposia.models.protocol.dialog import Message
from symposia.models.sessions.stop_conditions import MaxRounds
from symposia.state.redis.connect import connect
from symposia.state.redis.keys import session_key

pytestmark = [pytest.mark.timeout(180), pytest.mark.leaves_keys]

MODES: dict[str, dict[str, Any]] = {
    "round_robin": {"agents": {"ann": "say", "bob": "say"}, "stop": MaxRounds(2)},
    "orchestrated": {"agents": {"orchestrator": "lead", "coder": "say", "tester": "say", "writer": "say"}},
    "pair": {"agents": {"driver": "say", "navigator": "navigator"}, "priority": "high"},
    "broadcast": {
        "agents": {"ann": "say", "bob": "say", "sum": "say"},
        "options": {"aggregator": "sum"},
        "messages": ["What do you think?"],
    },
    "swarm": {
        "agents": {"ann": "claimer", "bob": "claimer", "tess": "claimer"},
        "roles": {"tess": "tester"},
        "options": {"items": [{"text": "plan"}, {"text": "paint"}]},
    },
}
#: What differs between a session in Redis and the same one in the archive.
OF_ITS_PLACE = {"is_live", "now_ms"}

HOSTILE = [
    "<script>alert(1)</script>",
    '<img src=x onerror="alert(1)">',
    "[click](javascript:alert(1)) ![pixel](https://evil.example/p.png)",
    "</textarea></script><svg/onload=alert(1)>",
    "\x1b[31mred\x1b[0m \x1b]8;;https://evil.example\x07link\x1b]8;;\x07",
    "user\u202egnp.exe \u2066isolated\u2069 \ufeff",
    "```html\n<script>alert(2)</script>\n```",
    "|<b>a</b>|b|\n|-|-|\n|<i>1</i>|2|",
    "{{ 7*7 }} {% raw x %} &lt;b&gt; &#x202e;",
]


class Elements(HTMLParser):
    """The elements of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def text_of(html: str) -> str:
    return "".join(Elements(html).texts)


def check_parts(dashboard, job: CollabJob) -> dict[str, Any]:
    """All parts of the page, checked against the session; they are the same from the archive."""
    events = list(job.events())
    dispatched = [it.payload for it in events if it.event_type == "MAPTurnDispatched"]
    session = dashboard.get(job)
    assert (session["status"], session["is_final"], session["actions"][:1]) == (
        "completed",
        True,
        ["continue"],
    )
    assert (session["turns"], session["usage_is_complete"]) == (job.state().closed, True)
    assert sum(it["turns"] for it in session["participants"]) == session["turns"]
    assert [it["agent"] for it in session["participants"]] == [it.agent for it in job.spec.agents.values()]

    messages = [it for page in reversed(dashboard.all_pages(job, "messages", 2)) for it in page["messages"]]
    written = list(job.messages())
    assert [text_of(it["html"]) for it in messages] == [it.content for it in written]
    assert [it["turn"] for it in messages] == [it.turn_number for it in written]

    timeline = dashboard.get(job, "/timeline")
    spans = timeline["spans"]
    assert sorted(it["task_id"] for it in spans) == sorted(it["task_id"] for it in dispatched)
    assert all(it["began_ms"] <= it["ended_ms"] for it in spans)
    parts = dashboard.all_pages(job, "timeline", 3)
    assert {it["key"] for part in parts for it in part["spans"]} == {it["key"] for it in spans}

    listed = [it["id"] for page in dashboard.all_pages(job, "events", 4) for it in page["events"]]
    assert len(listed) == len(set(listed)) == len(events) + len(job.collab().events)
    assert not any(
        "token" in it["data"].split('"') for it in dashboard.get(job, "/events?count=500")["events"]
    )
    return {"session": session, "messages": messages, "timeline": timeline, "events": listed}


@pytest.mark.parametrize("mode", MODES)
def test_each_mode_is_shown_live_and_archived(dashboard, mode):
    job = dashboard.submit(mode, **MODES[mode], title=f"A <b>{mode}</b> session")
    result_of(job)
    live = check_parts(dashboard, job)
    assert bool(live["session"]["board"]) is (mode == "swarm")
    assert (live["session"]["decisions"] is not None) is (mode == "orchestrated")
    assert (live["session"]["priority"] == "high") is (mode == "pair")
    page = dashboard.page(job)
    assert page.status == 200
    assert f"A &lt;b&gt;{mode}&lt;/b&gt; session" in page.text

    dashboard.expire(job)
    archived = check_parts(dashboard, dashboard.client.get_job(job.id))
    assert (archived["session"].pop("is_live"), live["session"].pop("is_live")) == (False, True)
    for part in (archived["session"], live["session"]):
        for name in OF_ITS_PLACE & part.keys():
            del part[name]
    assert archived == live
    assert dashboard.page(job).status == 200
    assert len(dashboard.file(job, "json").json()["dialog"]["messages"]) == archived["session"]["messages"]
    assert len(dashboard.file(job, "map-events").json()["events"]) > archived["session"]["turns"]


def test_alignment_page_has_tensions_and_its_document(dashboard):
    job = dashboard.submit(
        "round_robin", dict.fromkeys(EXPERTS, "expert"), protocol="alignment", stop=MaxRounds(9)
    )
    result_of(job)
    session = dashboard.get(job)
    assert [it["id"] for it in session["ledger"]["tensions"]] == ["T01", "T02", "T03", "T04", "T05"]
    assert {it["state"] for it in session["ledger"]["tensions"]} == {"resolved"}
    assert session["ledger"]["converged"] is True
    assert "alignment" in session["exports"]
    answer = dashboard.file(job, "alignment")
    assert answer.text == job.transcript()
    assert answer.headers["content-disposition"] == f'attachment; filename="{job.id}.dialogue.md"'


def test_hostile_text_stays_text(dashboard):
    title = '<script>alert("title")</script> \u202egnp'
    job = dashboard.submit(
        "pair", {"ann": "say", "bob": "say"}, title=title, messages=HOSTILE, stop=MaxRounds(1)
    )
    result_of(job)

    page = dashboard.page(job).text
    elements = Elements(page)
    assert all(attributes.get("src") for tag, attributes in elements.found if tag == "script")
    assert not [name for _, attributes in elements.found for name in attributes if name.startswith("on")]
    assert not [tag for tag, _ in elements.found if tag in {"iframe", "object", "style", "base", "form-x"}]
    assert "\u202e" not in page
    assert make_visible(title) in elements.texts

    messages = dashboard.get(job, "/messages")["messages"][: len(HOSTILE)]
    shown = [text_of(it["html"]) for it in messages]
    assert shown[0] == HOSTILE[0]
    assert shown[1] == HOSTILE[1]
    assert "[click](javascript:alert(1))" in shown[2]
    assert "␛[31mred␛[0m" in shown[4]
    assert "\\u202egnp" in shown[5]
    assert "<script>alert(2)</script>" in shown[6]
    assert not [text for text in shown if any(mark in text for mark in "\x1b\u202e\u2066\ufeff")]
    found = [it for message in messages for it in Elements(message["html"]).found]
    assert [it["href"] for tag, it in found if tag == "a"] == ["https://evil.example/p.png"]


def test_long_message_is_cut_and_whole_on_request(dashboard):
    text = "word " * 4_000
    job = dashboard.submit("pair", {"ann": "say", "bob": "say"}, messages=[text], stop=MaxRounds(1))
    result_of(job)
    message = dashboard.get(job, "/messages")["messages"][0]
    assert (message["is_cut"], message["characters"]) == (True, len(text))
    assert len(text_of(message["html"])) < len(text)
    assert dashboard.get(job, f"/messages/{message['id']}")["text"] == text
    link = f"/collabs/{job.id}/messages/{message['id']}"
    assert f'href="{link}"' in dashboard.page(job).text
    whole = dashboard.raw_path(link)
    assert (whole.text, whole.headers["content-type"]) == (text, "text/plain; charset=UTF-8")


def test_page_of_a_long_session_reads_a_page(dashboard):
    messages = [f"message {number} " + "x" * 1_000 for number in range(4_000)]
    job = dashboard.submit("pair", {"ann": "say", "bob": "say"}, messages=messages, stop=MaxRounds(1))
    result_of(job)
    # The worker reads the whole session once, to archive it.
    reader = until(dashboard.client.archived, what="there is an archive")
    until(lambda: reader.has_ended(job.id), what="the session is archived")
    with connect(dashboard.settings["redis_url"]) as redis:

        def sent_bytes() -> int:
            return int(redis.info("stats")["total_net_output_bytes"])

        before = sent_bytes()
        page = dashboard.get(job, "/messages?count=50")
        (
            dashboard.get(job),
            dashboard.get(job, "/timeline"),
            dashboard.get(job, "/events"),
            dashboard.page(job),
        )
        older = dashboard.get(job, f"/messages?count=50&before={page['before']}")
        assert sent_bytes() - before < 1_000_000, "of more than 4,000,000 bytes"
    assert [it["turn"] for it in page["messages"][-2:]] == [1, 2]
    assert text_of(older["messages"][-1]["html"]).startswith("message 3951 ")


def test_page_shows_the_turns_around_one_and_those_with_a_text(dashboard):
    messages = [f"message {number}" for number in range(150)]
    job = dashboard.submit("pair", {"ann": "say", "bob": "say"}, messages=messages, stop=MaxRounds(20))
    result_of(job, timeout_s=60)

    def turns(query: str) -> list[str]:
        elements = Elements(dashboard.raw_path(f"/collabs/{job.id}?{query}").text).found
        return [it["id"] for tag, it in elements if tag == "article"]

    newest = turns("")
    assert (len(newest), newest[-1]) == (100, "turn-40")
    assert "message-" in newest[0]
    with connect(dashboard.settings["redis_url"]) as redis:
        posted = Message(role="user", content="A late word.").to_json()
        redis.xadd(session_key(job.id, "dialog"), {"m": posted})
    around = turns("turn=3")
    assert "turn-3" in around
    assert len([it for it in around if it.startswith("message-")]) == 19
    assert " d " not in dashboard.raw_path(f"/collabs/{job.id}?turn=1").text.partition('id="turns"')[2], (
        "no wait of days"
    )
    assert turns("find=IN+TURN+7") == ["turn-7"]
    assert turns("find=nobody+wrote+this") == []
    assert turns("from=5m") == newest, "an age counts from the end"
    no_messages = dashboard.raw_path(f"/collabs/{job.id}?from=2999-01-01").text
    assert "No messages." in no_messages
    assert "First turn" not in no_messages
    for query in ("turn=x", "before=0-0", "to=x", "to=9999-12-31T23:59:59-23:00", "from=0001-01-01"):
        assert dashboard.raw_path(f"/collabs/{job.id}?{query}").status == 400, query


def test_searched_page_shows_what_is_written_later(dashboard):
    job = dashboard.submit("pair", {"ann": "say", "bob": "human"}, stop=MaxRounds(1))
    until(job.pending, what="bob is asked")

    def is_shown(query: str) -> bool:
        return "A late word." in dashboard.raw_path(f"/collabs/{job.id}?{query}").text

    assert not any(map(is_shown, ("find=late", "turn=1")))
    job.post("A late word.")
    for query in ("find=late", "turn=1"):
        until(lambda query=query: is_shown(query), what=f"{query} shows the message")
    assert not is_shown("to=2020-01-01")
    job.cancel()


@pytest.mark.parametrize(
    "query", ["before=x", "before=1-1-1", "before=0-0", "count=0", "count=501", "count=x", "before=-1"]
)
def test_bad_page_is_refused(dashboard, query):
    job = dashboard.submit("pair", {"ann": "say", "bob": "say"}, stop=MaxRounds(1))
    for part in ("messages", "events"):
        answer = dashboard.raw(job, f"/{part}?{query}")
        assert (answer.status, "error" in answer.json()) == (400, True)


def test_memory_is_masked(dashboard):
    dashboard.client.memory.store(7, "room", {"to": ["bob@mail.example"], "subject": "Hi"}, service="email")
    job = dashboard.submit("pair", {"ann": "say", "bob": "say"}, user_id=7, room_id="room", stop=MaxRounds(1))
    result_of(job)
    assert dashboard.get(job)["has_memory"] is True
    values = {it["name"]: it["value"] for it in dashboard.get(job, "/memory")["memory"]["parameters"]}
    assert values == {"to": ["****@mail.example"], "subject": "Hi"}


def test_failed_attempts_are_red_and_counted(dashboard):
    policy = {"attempts": 2, "backoff_s": 0, "then": "skip"}
    job = dashboard.submit(
        "pair", {"ann": "moody", "bob": "say"}, stop=MaxRounds(1), policy=policy, parameters={"fails": 1}
    )
    result_of(job)
    spans = {it["key"]: it for it in dashboard.get(job, "/timeline")["spans"]}
    assert (spans["1.1"]["outcome"], spans["1.1"]["retried"]) == ("failed", True)
    assert "mood 1" in spans["1.1"]["error"]
    assert spans["1.2"]["outcome"] == "message"
    (ann, _) = dashboard.get(job)["participants"]
    assert (ann["turns"], ann["failed"]) == (1, 1)


def test_unknown_session_is_not_found(dashboard):
    unknown = "00000000-0000-4000-8000-000000000000"
    for part in ("", "/messages", "/timeline", "/events", "/memory", "/export/json", "/changes", "/stream"):
        answer = dashboard.raw_path(f"/api/collabs/{unknown}{part}")
        assert (answer.status, "not found" in answer.text) == (404, True), part
    with connect(dashboard.settings["redis_url"]) as redis:
        assert not redis.exists(session_key(unknown, "listening"))


def test_shortened_id_leads_to_the_session(dashboard):
    job = dashboard.submit("pair", {"ann": "say", "bob": "say"}, stop=MaxRounds(1))
    answer = dashboard.raw_path(f"/collabs/{job.id[:8]}")
    assert (answer.status, answer.headers["location"]) == (302, f"/collabs/{job.id}")


@pytest.mark.long
def test_turn_and_task_page_link_to_each_other(dashboard):
    def linked():
        # Flower does not know the tasks that ran before it received its first event.
        job = dashboard.submit("pair", {"ann": "say", "bob": "say"}, stop=MaxRounds(1))
        result_of(job, timeout_s=60)
        span = dashboard.get(job, "/timeline")["spans"][0]
        page = dashboard.raw_path(f"/task/{span['task_id']}")
        return page.status == 200 and (job, span, page)

    job, span, page = until(linked, what="Flower knows the task of a turn")
    assert f'href="/task/{span["task_id"]}?session={job.id}"' in dashboard.page(job).text
    assert f'<a href="/collabs/{job.id}">' in page.text
    assert "Task details" in page.text
    assert dashboard.raw_path("/task/unknown").status == 404


def test_export_of_a_running_session_has_no_token(dashboard):
    job = dashboard.submit("pair", {"ann": "say", "bob": "human"}, stop=MaxRounds(1))
    (pending,) = until(job.pending, what="bob is asked")
    tokens = {it.payload.get("token_id") for it in job.events() if it.payload} - {None}
    assert len(tokens) == 2
    exported = dashboard.file(job, "map-events")
    assert len(exported.json()["events"]) == len(list(job.events()))
    assert not [it for it in (*tokens, "token_id", pending.reply_token) if it in exported.text]
    job.reply("bob", "Fine.", turn=pending.turn_number)
    result_of(job, timeout_s=60)
    assert all(it in dashboard.file(job, "map-events").text for it in tokens)
