"""Sessions with an agent of another system that is called by A2A."""

from __future__ import annotations

import pytest

from documents.pages import Page
from live import result_of, until
from symposia.models.protocol.collab import Collab, Participant
from symposia.state.redis.connect import connect
from symposia.state.redis.keys import calls_key, session_key

a2a_agent = pytest.importorskip("servers.tools.a2a_agent", reason="needs the extra a2a")

PAGE = Page("docs/a2a.md")
ENTRY = PAGE.take("toml", "[webhooks]")


def agents_file(url):
    """The tables of the page, for an agent on this machine."""
    changes = {"agents.example.com": "127.0.0.1", "10.20.0.0/16": "127.0.0.0/8"}
    text = ENTRY.replace("https://agents.example.com/research", url)
    for old, new in changes.items():
        text = text.replace(old, new)
    return text + "poll_s = 0.1\n"


@pytest.fixture(params=[True, False], ids=["streaming", "polling"])
def remote(request):
    yield from serve(streaming=request.param)


@pytest.fixture
def agent():
    yield from serve()


def serve(**options):
    remote = a2a_agent.RemoteAgent(token="t0p-s3cret", **options)
    yield remote
    remote.executor.is_released = True
    remote.close()


@pytest.fixture
def sessions(installation, monkeypatch):
    monkeypatch.setenv("RESEARCH_TOKEN", "t0p-s3cret")

    def start(remote, **more):
        with (installation.folder / "agents.toml").open("a") as file:
            file.write(agents_file(remote.url))
        installation.start_worker()
        return lambda text, **options: installation.submit(
            "round_robin", {"bob": "researcher"}, stop={"max_rounds": 1}, messages=[text], **more, **options
        )

    return start


def errors_of(job):
    return str([event.to_wire() for event in job.events()])


def test_answer_is_the_message_of_the_turn(sessions, remote):
    result = result_of(sessions(remote)("blue paint"))
    assert result.dialog.messages[-1].content == "got blue paint"
    assert len(remote.executor.received) == 1


def test_file_of_an_artifact_is_an_attachment(sessions, agent):
    job = sessions(agent)("a file please")
    message = result_of(job).dialog.messages[-1]
    assert message.content == "a table"
    (file,) = message.attachments
    assert (file.name, file.media_type) == ("t.csv", "text/csv")


def test_question_goes_to_a_person_and_back(sessions, remote):
    job = sessions(remote, approvers=["ann"])("ask me")
    (question,) = until(job.pending, what="the question is asked")
    assert question.question.text == "which colour?"
    job.reply("ann", "green")
    assert result_of(job).dialog.messages[-1].content == "got green"
    first, second = remote.executor.received
    assert first.task_id in {"", second.task_id}
    assert second.task_id


def test_task_that_fails_after_an_answer_is_tried_again(sessions, agent):
    job = sessions(agent, approvers=["ann"])("ask me")
    until(job.pending, what="the question is asked")
    job.reply("ann", "fail with green")
    assert "Question: which colour?\nAnswer: fail with green" in result_of(job).dialog.messages[-1].content
    assert "the task failed: no paper" in errors_of(job)
    asking, reply, again = agent.executor.received
    assert asking.task_id in {"", reply.task_id}
    assert again.task_id != reply.task_id


def test_question_without_a_person_fails_the_turn(sessions, agent):
    job = sessions(agent)("ask me")
    result_of(job)
    assert "the task asks for input: which colour?" in errors_of(job)


def test_killed_worker_leaves_one_task(sessions, installation, remote):
    job = sessions(remote)("wait for it")
    journal = calls_key(job.id, 1)
    with connect(installation.redis_url) as redis:
        until(lambda: redis.exists(journal), what="the id of the task is stored")
    installation.workers[0].kill()
    installation.start_worker()
    remote.executor.is_released = True
    assert result_of(job).dialog.messages[-1].content == "got wait for it"
    assert len(remote.executor.received) == 1


def test_id_of_an_expired_session_causes_a_new_task(sessions, installation, agent):
    sessions(agent)
    bob = Participant(participant_id="bob")
    collab = Collab(title="Paint", purpose="Choose.", mode="round_robin", participants=[bob])
    for _ in range(2):
        job = installation.client.submit(collab, agents={"bob": "researcher"}, stop={"max_rounds": 1})
        assert result_of(job).dialog.messages[-1].content == "got Choose."
        with connect(installation.redis_url) as redis:
            redis.delete(*redis.scan_iter(session_key(job.id, "*")))
    earlier, later = agent.executor.received
    assert earlier.message_id != later.message_id
    assert earlier.context_id != later.context_id


def test_failed_task_is_tried_again(sessions, agent):
    result = result_of(sessions(agent)("fail once"))
    assert result.dialog.messages[-1].content == "got fail once"
    first, second = agent.executor.received
    assert first.message_id != second.message_id


@pytest.mark.parametrize(("status", "attempts"), [(503, 2), (403, 1)])
def test_http_status_says_whether_a_retry_may_help(sessions, agent, status, attempts):
    agent.statuses = [status]
    job = sessions(agent)("hello")
    result_of(job)
    assert len(agent.executor.received) == attempts - 1
    assert f"127.0.0.1 answered HTTP {status}" in errors_of(job)


def test_card_of_another_host_gets_no_token(sessions, agent):
    agent.card.supported_interfaces[0].url = "http://elsewhere.example/rpc"
    job = sessions(agent)("hello")
    result_of(job)
    assert "requests to elsewhere.example are not allowed" in errors_of(job)
