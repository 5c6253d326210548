"""The inbox in Flower: open questions, and answers in place."""

from __future__ import annotations

import pytest

from live import until
from scaling import patient
from servers.dashboard import CREDENTIALS
from servers.flower import action_headers, basic
from symposia.jobs.questions import question_id
from symposia.models.protocol.collab import Collab, Participant
from symposia.models.sessions.stop_conditions import MaxTurns
from symposia.models.text.redact import clean_text

#: They start servers of their own.
pytestmark = pytest.mark.long

HOSTILE = "<script>alert(1)</script>\u202e\x1b[31m"


def ask_ben(client, title: str = "A letter"):
    """A session that waits for Ben."""
    collab = Collab(
        title=title,
        purpose="Write a letter.",
        mode="round_robin",
        participants=[
            Participant(participant_id="ann", kind="agent"),
            Participant(participant_id="ben", kind="human", role_id="editor", display_name="Benjamin"),
        ],
    )
    job = client.submit(collab, agents={"ann": "say"}, stop=MaxTurns(3))
    until(job.pending, what="Ben is asked")
    return job


def test_question_is_answered_on_the_page(guarded, client, worker):
    job = ask_ben(client, title=f"A letter {HOSTILE}")
    user = basic(CREDENTIALS)
    answer = guarded.get("/api/inbox", **user)
    (question,) = answer.json()["questions"]
    (pending,) = job.pending()
    assert (question["session_id"], question["turn"], question["asked"]) == (job.id, 2, ["ben"])
    assert (question["title"], question["participant"], question["is_own"]) == (
        f"A letter {HOSTILE}",
        "ben",
        True,
    )
    assert question["until_ms"] > question["asked_ms"]
    page = guarded.get("/inbox", **user)
    assert page.status == 200
    assert pending.reply_token not in answer.text + page.text
    assert "<script>alert" not in page.text

    body = {"session": job.id, "question": question["id"], "participant": "ben", "text": f"Dear {HOSTILE}"}
    headers = action_headers(guarded, CREDENTIALS, "/inbox")
    refused = [
        guarded.post("/api/inbox/reply", body),
        guarded.post("/api/inbox/reply", body, **user),
        guarded.post("/api/inbox/reply", body, **{**headers, "Sec_Fetch_Site": "cross-site"}),
        guarded.post("/api/inbox/reply", body, **{**headers, "Origin": "https://evil.example"}),
        guarded.post("/api/inbox/reply", body, **{**headers, "X_XSRFToken": "none"}),
    ]
    assert [it.status in (401, 403) for it in refused] == [True] * 5
    assert [it.status for it in (guarded.post("/api/inbox/reply", {**body, "text": " "}, **headers),)] == [
        400
    ]
    assert guarded.post("/api/inbox/reply", {**body, "question": "0" * 32}, **headers).status == 409
    assert guarded.post("/api/inbox/reply", {**body, "participant": "ann"}, **headers).status == 409
    assert guarded.post("/api/inbox/reply", {"session": job.id}, **headers).status == 400
    assert job.pending() == (pending,), "refused requests change nothing"

    accepted = guarded.post("/api/inbox/reply", body, **headers)
    assert accepted.json() == {"session": job.id, "turn": 2, "participant": "ben"}
    result = job.result(timeout=patient(40))
    assert (result.ok, result.turns) == (True, 3)
    assert [it.content for it in result.dialog.messages if it.speaker == "ben"] == [
        f"Dear {clean_text(HOSTILE)}"
    ]
    rest = guarded.json("/api/inbox", **user)
    assert (rest["questions"], rest["next"]) == ([], None)
    people = ("ben", "Benjamin", "role:editor", "ann")
    closed = [guarded.get(f"/inbox?state=answered&for={who}", **user).text for who in people]
    assert [job.id in text for text in closed] == [True, True, True, False]
    assert guarded.post("/api/inbox/reply", body, **headers).status == 409


@pytest.mark.leaves_keys
def test_questions_are_read_only_without_login(flower, client, worker):
    jobs = [ask_ben(client) for _ in range(3)]
    first = flower.json("/api/inbox?limit=2")
    second = flower.json(f"/api/inbox?limit=2&after={first['next']}")
    shown = [it["session_id"] for page in (first, second) for it in page["questions"]]
    assert (sorted(shown), second["next"]) == (sorted(job.id for job in jobs), None)
    assert flower.json("/api/inbox?participant=cyd")["questions"] == []
    assert flower.get("/api/inbox?limit=0").status == flower.get("/api/inbox?after=none").status == 400

    page = flower.get("/inbox").text
    assert "data-actions" not in page
    assert 'data-token=""' in page
    (pending,) = jobs[0].pending()
    body = {
        "session": jobs[0].id,
        "question": question_id(pending.reply_token),
        "participant": "ben",
        "text": "No.",
    }
    assert flower.post("/api/inbox/reply", body).status == 403
    assert jobs[0].pending() == (pending,)
