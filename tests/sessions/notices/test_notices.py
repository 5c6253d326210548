"""Notices about questions to people: real workers, a mail server, a chat webhook."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from live import REGISTRY, result_of, until
from servers.mail.smtp_sink import SmtpSink
from servers.remote_system import RemoteSystem
from symposia.jobs.collab import CollabJob
from symposia.models.protocol.collab import Collab, Participant
from symposia.state.notices import NoticeIndex, NoticeStore
from symposia.state.redis.connect import connect

APP = "processes.notice_app"
ANN = '[people.ann]\nemail = "ann@example.com"\n'
BOB = '[people.bob]\nemail = "bob@example.com"\n'


@dataclass
class Receivers:
    mail: SmtpSink
    chat: RemoteSystem


@pytest.fixture
def receivers(monkeypatch: pytest.MonkeyPatch) -> Iterator[Receivers]:
    receivers = Receivers(SmtpSink(), RemoteSystem())
    for name, value in {
        "NOTICES_SMTP_URL": receivers.mail.url,
        "CHAT_ANN": receivers.chat.url,
        "NOTICES_SECRET": "a secret of the tests",
        "SYMPOSIA_NOTICES_FROM": "symposia@example.com",
        "SYMPOSIA_NOTICES_NETWORKS": "127.0.0.0/8",
        "SYMPOSIA_PUBLIC_URL": "https://symposia.example.com/base",
    }.items():
        monkeypatch.setenv(name, value)
    yield receivers
    receivers.mail.close()
    receivers.chat.close()


def ask(installation: Any, people: str, *, agents: dict[str, Any] | None = None) -> CollabJob:
    """Submit a session that asks ann."""
    with (installation.folder / "agents.toml").open("w") as file:
        file.write(REGISTRY + people)
    roster = [Participant(participant_id="ann", kind="human"), Participant(participant_id="ben")]
    collab = Collab(title="The letter", purpose="Write it.", mode="round_robin", participants=roster)
    return installation.client.submit(collab, agents={"ben": "say", **(agents or {})}, stop={"max_rounds": 1})


def states(installation: Any, job: CollabJob) -> dict[str, str]:
    """Return the states of the notices of a session, by stage, channel and person."""
    with connect(installation.redis_url) as redis:
        markers = NoticeStore(redis).read(job.id)
    return {field.partition(":")[2]: marker.state for field, marker in markers.items()}


def test_mail_and_chat_are_sent_once_under_two_workers(installation: Any, receivers: Receivers) -> None:
    job = ask(installation, ANN + 'chat = "CHAT_ANN"\n')
    installation.start_workers(2)
    expected = {"question:email:ann": "sent", "question:chat:ann": "sent"}
    until(lambda: states(installation, job) == expected, what="both are sent")
    [mail] = receivers.mail.to("ann@example.com")
    assert mail["Subject"] == "The letter: a question for ann"
    assert mail["From"] == "symposia@example.com"
    assert "https://symposia.example.com/base/answers/" in mail.get_content()
    [letter] = receivers.chat.letters
    assert letter["text"].startswith("```\nThe letter: a question for ann\n")
    job.reply("ann", "Shorter, please.")
    assert result_of(job).collab.status.value == "completed"
    with connect(installation.redis_url) as redis:
        until(lambda: not redis.zcard("symposia:notices-due"), what="nothing is due any more")
    assert len(receivers.mail.mails) == len(receivers.chat.letters) == 1


def test_reminder_then_escalation_lets_another_person_answer(installation: Any, receivers: Receivers) -> None:
    people = f'{ANN}remind_after = "2s"\nescalate_after = "4s"\nescalate_to = "bob"\n{BOB}'
    installation_job = ask(installation, people)
    installation.start_worker()
    until(lambda: receivers.mail.to("bob@example.com"), what="bob gets a mail")
    subjects = [mail["Subject"] for mail in receivers.mail.to("ann@example.com")]
    assert subjects == ["The letter: a question for ann", "Reminder: The letter: a question for ann"]
    [mail] = receivers.mail.to("bob@example.com")
    assert mail["Subject"] == "The letter: ann did not answer; a question for bob"
    [question] = installation.client.inbox("bob")
    assert question.asked == ("ann", "bob")
    installation_job.reply("bob", "It is fine.", by="bob")
    assert "It is fine." in [message.content for message in result_of(installation_job).dialog.messages]


@pytest.mark.parametrize(
    ("kill_at", "mails", "state"),
    [("notice-claimed", 1, "sent"), ("notice-sending", 0, "failed"), ("notice-accepted", 1, "failed")],
)
def test_killed_worker_sends_no_notice_twice(
    installation: Any, receivers: Receivers, kill_at: str, mails: int, state: str
) -> None:
    (installation.folder / "kill-at").write_text(kill_at)
    job = ask(installation, ANN)
    worker = installation.start_worker(app=APP)
    until(lambda: worker.process.poll() is not None, what="the worker is killed")
    installation.start_worker(app=APP)
    until(lambda: states(installation, job) == {"question:email:ann": state}, what="its state")
    assert len(receivers.mail.mails) == mails
    [question] = installation.client.inbox("ann")
    assert ("a worker was lost" in question.notice_failed) == (state == "failed")


def test_question_of_a_lost_worker_is_told(installation: Any, receivers: Receivers) -> None:
    # Without a table of people the question is parked as if the worker was lost before it sent the notice.
    job = ask(installation, "")
    worker = installation.start_worker()
    until(job.pending, what="ann is asked")
    worker.kill()
    with connect(installation.redis_url) as redis:
        NoticeIndex(redis).add(job.id, in_ms=500)  # as parking adds it before
    (installation.folder / "agents.toml").write_text(REGISTRY + ANN)
    installation.start_worker()
    until(lambda: states(installation, job) == {"question:email:ann": "sent"}, what="ann is notified")
    job.cancel()


def test_refused_mail_is_sent_again_and_a_rejected_one_is_listed(
    installation: Any, receivers: Receivers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SYMPOSIA_NOTICES_PER_HOUR", "1")  # attempts that failed do not count
    receivers.mail.answers = ["550 no such user"]
    job = ask(installation, ANN)
    installation.start_worker()
    until(lambda: states(installation, job) == {"question:email:ann": "failed"}, what="it has failed")
    [question] = installation.client.inbox("ann")
    assert question.notice_failed == "question to ann by email: 127.0.0.1 answered SMTP 550: no such user"
    receivers.mail.answers = ["451 later"]
    again = ask(installation, ANN)
    until(lambda: states(installation, again) == {"question:email:ann": "sent"}, what="the second attempt")


def test_notices_of_a_person_have_an_hourly_cap(
    installation: Any, receivers: Receivers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SYMPOSIA_NOTICES_PER_HOUR", "2")
    jobs = [ask(installation, ANN) for _ in range(4)]
    installation.start_worker()
    until(lambda: len(receivers.mail.mails) == 2, what="two mails")
    with connect(installation.redis_url) as redis:
        times = until(
            lambda: (
                [at for _, at in redis.zrange("symposia:notices-due", 0, -1, withscores=True) if at % 1 == 0]
                if redis.zcard("symposia:notices-due") == 2
                else None
            ),
            what="the other two wait",
        )
    assert len(times) == 2
    assert len(receivers.mail.mails) == 2
    for job in jobs:
        job.cancel()
