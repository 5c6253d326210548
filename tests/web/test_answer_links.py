"""Links in notices: a page with the question by real HTTP, which takes the answer of one person."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator

import httpx
import pytest

from live import until
from scaling import patient
from servers.web import WebServer
from symposia import Collab, CollabJob, Participant
from symposia.client.notices.links import AnswerLink
from symposia.jobs.questions import question_id

SECRET = "a secret of the tests"


@pytest.fixture(scope="module")
def pages(web) -> Iterator[httpx.Client]:
    """A server with the secret of links, and without credentials for the API."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NOTICES_SECRET", SECRET)
        server = WebServer(web.folder, web.settings, options=())
        server.start()
    with httpx.Client(base_url=f"http://127.0.0.1:{server.port}/answers/", timeout=patient(30)) as client:
        yield client
    server.close()


def ask(web, **options) -> CollabJob:
    people = [Participant(participant_id="ann", kind="human"), Participant(participant_id="ben")]
    title = "The <letter> & more"
    collab = Collab(title=title, purpose="Write it.", mode="round_robin", participants=people)
    job = web.client.submit(collab, agents={"ben": "say"}, stop={"max_rounds": 1}, **options)
    until(job.pending, what="ann is asked")
    return job


def token_of(job: CollabJob, *, person: str = "ann", in_s: float = 60, secret: str = SECRET) -> str:
    [question] = job.pending()
    link = AnswerLink(
        session_id=job.id,
        turn=question.turn_number,
        question=question_id(question.reply_token),
        person=person,
        expires_s=int(time.time() + in_s),
    )
    return link.sign(secret)


def test_page_shows_the_question_and_takes_one_answer(web, pages: httpx.Client) -> None:
    job = ask(web, messages=[{"role": "user", "content": "Dear <b>readers</b>."}])
    token = token_of(job)
    for _ in range(2):  # a scanner of e-mails opens the link first
        page = pages.get(token)
        assert page.status_code == 200
    assert "It is your turn, ann." in page.text
    assert "Dear &lt;b&gt;readers&lt;/b&gt;." in page.text
    assert "<script" not in page.text
    assert job.pending(), "a GET changes nothing"
    assert page.headers["cache-control"] == "no-store"
    assert page.headers["referrer-policy"] == "same-origin"
    assert page.headers["content-security-policy"].startswith("default-src 'none'; style-src 'sha256-")
    blank = pages.post(token, data={"text": " "})
    assert (blank.status_code, "must not be blank" in blank.text) == (422, True)
    assert pages.post(token, data={"text": "Shorter,\r\nplease."}).status_code == 200
    assert "Shorter,\nplease." in [
        message.content for message in job.result(timeout=patient(30)).dialog.messages
    ]
    again = pages.post(token, data={"text": "Longer."})
    assert (again.status_code, "answered by you" in again.text) == (409, True)
    seen = pages.get(token)
    assert (seen.status_code, "answered by you" in seen.text) == (200, True)
    events = job.collab().events or []
    [answered] = [event for event in events if event.event_type == "turn.answered"]
    assert (answered.data or {})["sent_by"] == "ann"


def test_closed_links_say_so(web, pages: httpx.Client) -> None:
    job = ask(web)
    ann, bob = token_of(job), token_of(job, person="bob")
    withdrawn = pages.get(bob)
    assert (withdrawn.status_code, "withdrawn" in withdrawn.text) == (410, True)
    assert pages.post(bob, data={"text": "yes"}).status_code == 409
    expired = pages.get(token_of(job, in_s=-1))
    assert (expired.status_code, "time to answer this question is over" in expired.text) == (410, True)
    assert job.pending()
    job.cancel()
    cancelled = pages.get(ann)
    assert (cancelled.status_code, "withdrawn" in cancelled.text) == (410, True)


def test_forged_links_are_not_found(web, pages: httpx.Client) -> None:
    job = ask(web)
    token = token_of(job)
    body, _, signature = token.partition(".")
    other = token_of(job, person="bob").partition(".")[0]
    forged = [
        token_of(job, secret="another secret!!"),
        f"{other}.{signature}",
        f"{body}.",
        body,
        "x.y",
        "é.ü",
    ]
    for link in forged:
        assert pages.get(link).status_code == 404, link
        assert pages.post(link, data={"text": "yes"}).status_code == 404, link
    assert job.pending()
    job.cancel()


def test_choices_are_buttons(web, pages: httpx.Client) -> None:
    people = [Participant(participant_id="ann"), Participant(participant_id="ben", kind="human")]
    collab = Collab(title="t", purpose="p", mode="round_robin", participants=people)
    job = web.client.submit(collab, agents={"ann": "careful"}, stop={"max_rounds": 1})
    until(job.pending, what="ann asks ben")
    token = token_of(job, person="ben")
    page = pages.get(token).text
    assert "ann asks ben:" in page
    assert re.findall(r"<button name=text value='(.*?)'>", page) == ["yes", "no"]
    assert pages.post(token, data={"text": "neither"}).status_code == 422
    assert pages.post(token, data={"text": "yes"}).status_code == 200
    until(
        lambda: "ben said yes" in [message.content for message in job.messages()], what="ann has the answer"
    )
    job.cancel()
