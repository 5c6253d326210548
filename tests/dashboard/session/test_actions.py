"""Actions on a session: with authentication they work, without it or from elsewhere nothing changes."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from live import result_of, until
from servers.dashboard import CREDENTIALS
from servers.flower import action_headers, basic
from symposia.models.sessions.stop_conditions import MaxRounds

pytestmark = [pytest.mark.timeout(180), pytest.mark.leaves_keys]

ACTIONS = {
    "suspend": {},
    "resume": {},
    "stop": {},
    "cancel": {"reason": "enough"},
    "post": {"text": "Hello."},
    "reply": {"question": "0" * 32, "name": "bob", "text": "Yes."},
}
#: Actions that open a new session.
NEW_SESSIONS = {
    "continue": {"text": "And now?"},
    "fork": {"turn": 2, "name": "bob", "text": "Be brief."},
    "retry": {},
}


def waiting(dashboard, **options):
    """A session whose first turn runs until `folder / ID` exists."""
    gate = dashboard.folder / f"gate-{len(list(dashboard.folder.iterdir()))}"
    gate.with_suffix(".used").touch()
    job = dashboard.submit(
        "pair", {"ann": "gated", "bob": "say"}, parameters={"gate": str(gate)}, stop=MaxRounds(2), **options
    )
    until(
        lambda: any(it["state"] == "speaking" for it in dashboard.get(job)["open_turns"]), what="ann speaks"
    )
    return job, gate


def event_data(dashboard, job, kind):
    """The data of the only event of this kind, as the page lists it."""
    (event,) = [it for it in dashboard.get(job, "/events?count=500")["events"] if it["type"] == kind]
    return json.loads(event["data"])


def test_page_can_suspend_post_resume_and_stop(dashboard):
    job, gate = waiting(dashboard)
    session = dashboard.get(job)
    assert session["actions"] == ["suspend", "stop", "cancel", "post", "fork"]
    (turn,) = session["open_turns"]
    assert (turn["scope"], turn["attempt"]) == ("floor", 1)
    assert 0 < turn["lease_left_ms"] <= 60_000

    assert dashboard.act(job, "suspend").json() == {"status": "suspended"}
    assert until(lambda: "resume" in dashboard.get(job)["actions"])
    again = dashboard.act(job, "suspend")
    assert (again.status, "error" in again.json()) == (409, True)
    assert dashboard.act(job, "resume").json() == {"status": "active"}
    posted = {"text": "A word from *outside*.", "key": "once"}
    assert dashboard.act(job, "post", posted).status == dashboard.act(job, "post", posted).status == 200
    assert dashboard.act(job, "stop").status == 200
    gate.touch()
    result = result_of(job, timeout_s=60)
    assert result.ok
    assert [it.content for it in result.dialog.messages].count("A word from *outside*.") == 1
    actions = {"session.suspended", "session.active", "message.posted", "session.stop.requested"}
    marks = dashboard.get(job, "/timeline")["marks"]
    assert {it["kind"] for it in marks if it["by"] == "ann"} == actions


def test_page_can_cancel_with_a_reason(dashboard):
    job, gate = waiting(dashboard)
    assert dashboard.act(job, "cancel", {"reason": "enough"}).json() == {"status": "cancelled"}
    gate.touch()
    session = until(lambda: (it := dashboard.get(job))["is_final"] and it)
    assert (session["status"], session["reason"], session["actor"]) == ("cancelled", "enough", "ann")
    assert session["actions"] == ["continue", "fork"]
    assert event_data(dashboard, job, "session.cancelled")["by"] == "ann"
    assert dashboard.act(job, "cancel").status == 409


def test_page_answers_without_the_reply_token(dashboard):
    job = dashboard.submit("pair", {"ann": "say", "bob": "human"}, stop=MaxRounds(1))
    (pending,) = until(job.pending, what="bob is asked")
    session = until(lambda: (it := dashboard.get(job))["questions"] and it)
    (question,) = session["questions"]
    assert (question["turn"], question["asked"]) == (pending.turn_number, ["bob"])
    assert [it["state"] for it in session["participants"]] == ["idle", "must answer"]
    assert "reply" in session["actions"]
    for part in ("", "/messages", "/events?count=500", "/timeline", "/changes?after=0-0"):
        assert pending.reply_token not in dashboard.raw(job, part).text
    assert pending.reply_token not in dashboard.page(job).text

    wrong = dashboard.act(job, "reply", {"question": question["id"], "name": "eve", "text": "Me!"})
    assert (wrong.status, job.pending()) == (409, (pending,))
    answer = {"question": question["id"], "name": "bob", "text": "I **agree**."}
    assert dashboard.act(job, "reply", answer).status == 200
    assert result_of(job, timeout_s=60).dialog.messages[-1].content == "I **agree**."
    assert dashboard.act(job, "reply", answer).status == 409
    answered = event_data(dashboard, job, "turn.answered")
    assert (answered["by"], answered["sent_by"]) == ("bob", "ann")
    (wait,) = dashboard.get(job, "/timeline")["waits"]
    assert wait["turn"] == question["turn"]
    assert wait["from_ms"] <= wait["until_ms"]


@pytest.mark.parametrize(
    "body",
    [{}, {"text": 1}, {"text": ""}, {"text": "x", "role": "agent"}, {"text": "x", "key": 1}],
)
def test_post_with_a_bad_body_is_refused(dashboard, body):
    job, gate = waiting(dashboard)
    answer = dashboard.act(job, "post", body)
    assert (answer.status, "error" in answer.json()) == (400, True)
    gate.touch()
    result_of(job, timeout_s=60)


def test_answer_to_a_replaced_question_is_refused(dashboard):
    job = dashboard.submit("pair", {"ann": "twice", "ben": "human"}, people=["ben"], stop=MaxRounds(1))
    (first,) = until(lambda: dashboard.get(job)["questions"], what="the first question")
    answer = {"question": first["id"], "name": "ben", "text": "Yes."}
    assert dashboard.act(job, "reply", answer).status == 200
    (second,) = until(
        lambda: [it for it in dashboard.get(job)["questions"] if it["id"] != first["id"]],
        what="the second question",
    )
    assert (second["turn"], second["text"]) == (first["turn"], "May I delete the backup?")
    assert dashboard.act(job, "reply", answer).status == 409
    assert [it.question.text for it in job.pending()] == [second["text"]]
    assert dashboard.act(job, "reply", {**answer, "question": second["id"], "text": "No."}).status == 200
    (own,) = until(
        lambda: [it for it in dashboard.get(job)["questions"] if it["turn"] != first["turn"]],
        what="Ben's turn",
    )
    assert dashboard.act(job, "reply", {**answer, "question": own["id"]}).status == 200
    contents = [it.content for it in result_of(job, timeout_s=60).dialog.messages]
    assert contents[-2:] == ["Yes., No.", "Yes."]


@pytest.mark.parametrize("question", [None, 1, ["x"]])
def test_reply_needs_the_id_of_a_question(dashboard, question):
    job, gate = waiting(dashboard)
    assert dashboard.act(job, "reply", {"question": question, "name": "ann", "text": "x"}).status == 400
    gate.touch()
    result_of(job, timeout_s=60)


def test_action_without_permission_is_refused(dashboard):
    job, gate = waiting(dashboard)
    right = action_headers(dashboard.flower, CREDENTIALS)
    flower = replace(dashboard.flower, credentials="")
    changed = {
        "no credentials": {"Authorization": None},
        "wrong credentials": basic("ann:wrong"),
        "no token": {"X_XSRFToken": None},
        "another token": {"X_XSRFToken": "2|00000000|" + "0" * 32 + "|1700000000"},
        "no cookie": {"Cookie": None},
        "another site": {"Sec_Fetch_Site": "cross-site"},
        "another origin": {"Origin": "https://evil.example"},
        "a form": {"Content-Type": "application/x-www-form-urlencoded"},
        "another host": {"Host": "evil.example"},
    }
    for action, body in {**ACTIONS, **NEW_SESSIONS}.items():
        for name, change in changed.items():
            headers = {key: value for key, value in {**right, **change}.items() if value is not None}
            answer = flower.post(f"/api/collabs/{job.id}/{action}", body, **headers)
            assert answer.status in (401, 403, 415), (action, name, answer)
        assert flower.get(f"/api/collabs/{job.id}/{action}", **right).status == 405
    assert (job.status(), job.pending()) == ("active", ())
    assert "Hello." not in [it.content for it in job.messages()]
    gate.touch()
    assert result_of(job, timeout_s=60).reason == "max_rounds"


@pytest.mark.parametrize("is_archived", [False, True])
def test_ended_session_is_continued_and_forked(dashboard, is_archived):
    job = dashboard.submit("pair", {"ann": "say", "bob": "say"}, stop=MaxRounds(1))
    result_of(job, timeout_s=60)
    if is_archived:
        dashboard.expire(job)
    session = dashboard.get(job)
    assert session["actions"] == ["continue", "fork"]
    assert session["budget"] == [{"unit": "rounds", "limit": 1, "used": 1, "reserved": 0}]
    opened = {}
    for action in ("continue", "fork"):
        new = dashboard.client.get_job(dashboard.act(job, action, NEW_SESSIONS[action]).json()["id"])
        result_of(new, timeout_s=60)
        opened[action] = new
    assert next(iter(opened["continue"].messages())).content == "And now?"
    assert opened["fork"].spec.agents["bob"].instructions == "Be brief."
    assert [message.turn_number for message in opened["fork"].messages()] == [2]
    assert f"?compare={job.id}" in dashboard.page(opened["fork"]).text
    for body in ({}, {"turn": "2"}, {"turn": 99}, {"turn": 2, "name": "eve", "text": "Hi."}):
        assert dashboard.act(job, "fork", body).status == 400
    assert dashboard.act(job, "continue").status == dashboard.act(job, "retry").status == 400


def test_failed_session_is_begun_again(dashboard):
    policy = {"attempts": 1, "backoff_s": 0}
    job = dashboard.submit("pair", {"ann": "blind", "bob": "say"}, policy=policy, stop=MaxRounds(1))
    until(lambda: job.state().is_final)
    assert dashboard.get(job)["actions"] == ["continue", "fork", "retry"]
    again = dashboard.client.get_job(dashboard.act(job, "retry").json()["id"])
    assert (again.spec.history.session, again.spec.history.before_turn) == (job.id, 1)


def test_archived_session_does_not_change(dashboard):
    job = dashboard.submit("pair", {"ann": "say", "bob": "say"}, stop=MaxRounds(1))
    result_of(job, timeout_s=60)
    dashboard.expire(job)
    for action, body in ACTIONS.items():
        answer = dashboard.act(job, action, body)
        assert answer.status in (404, 409), (action, answer)
