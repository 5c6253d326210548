"""Remote systems: notified by a signed webhook, answering by a signed callback, each once."""

from __future__ import annotations

import asyncio
import functools
import json
import threading
import time
from collections.abc import Callable

import pytest

from live import result_of, until
from scaling import patient
from servers.ports import own_port
from servers.remote_system import SECRET, RemoteSystem, call, post
from sessions.inline_installation import InlineInstallation
from symposia.agents.remote.webhook import refusal
from symposia.models.attachments import Attachment
from symposia.workers.callbacks import CallbackServer, FailedAuthLimiter, Receiver

REGISTRY = """
[webhooks]
hosts = ["127.0.0.1"]
networks = ["127.0.0.0/8"]
callback_url = "https://symposia.example/replies"

[agents.partner]
kind = "external"
url = "{url}"
secret_env = "PARTNER_SECRET"
attempts = 3

[agents.stranger]
kind = "external"
url = "{url}"
secret_env = "STRANGER_SECRET"
"""


@pytest.fixture
def system():
    it = RemoteSystem()
    yield it
    it.close()


@pytest.fixture
def open_installation(make_installation, system, monkeypatch) -> Callable[..., InlineInstallation]:
    monkeypatch.setenv("PARTNER_SECRET", SECRET)
    monkeypatch.setenv("STRANGER_SECRET", "whsec_c29tZWJvZHkgZWxzZQ==")
    monkeypatch.setattr("symposia.tasks.waiting.due_work.FIRST_RETRY_S", 0.01)
    return functools.partial(make_installation, REGISTRY.replace("{url}", system.url))


@pytest.fixture
def installation(open_installation) -> InlineInstallation:
    return open_installation()


@pytest.fixture
def callbacks(installation):
    """The receiver, served on loopback; its URL."""
    port = own_port()
    loop = asyncio.new_event_loop()
    receiver = Receiver(installation.client, installation.runtime.agents.registry)

    async def main():
        await CallbackServer(receiver, max_message_bytes=4_096).serve(host="127.0.0.1", port=port)

    task = loop.create_task(main())
    thread = threading.Thread(target=_run, args=(loop, task), daemon=True)
    thread.start()
    url = f"http://127.0.0.1:{port}/replies"
    until(lambda: _answers(url), what="the receiver listens")
    yield url
    loop.call_soon_threadsafe(task.cancel)
    thread.join(patient(10))
    loop.close()


def _run(loop, task):
    asyncio.set_event_loop(loop)
    try:
        loop.run_until_complete(task)
    except asyncio.CancelledError:
        loop.run_until_complete(loop.shutdown_default_executor())


def _answers(url):
    try:
        return post(url, {})[0] == 400
    except OSError:
        return False


@pytest.fixture
def told(installation, system):
    """A session whose remote system got its turn, and the webhook body."""
    job = installation.submit("pair", {"ann": "noop", "bot": "partner"})
    installation.work()
    (letter,) = system.letters
    return job, letter


def notes(job, kind):
    return [event.data for event in job.collab().events if event.event_type == kind]


def texts(job):
    return [message.content for message in job.messages()]


# -- deliveries -----------------------------------------------------------------------------


def test_webhook_has_the_turn_and_the_reply_address(system, told):
    job, letter = told
    assert {name: letter[name] for name in ("type", "session_id", "turn_number", "participant")} == {
        "type": "turn.asked",
        "session_id": job.id,
        "turn_number": 2,
        "participant": "bot",
    }
    assert letter["messages"] == [{"speaker": "ann", "role": "agent", "content": "ok"}]
    assert letter["reply_token"] == job.pending()[0].reply_token
    assert letter["callback_url"] == "https://symposia.example/replies"
    assert [event["attempt"] for event in notes(job, "webhook.delivered")] == [1]


def test_delivery_is_signed_over_body_and_time(system, told):
    ((headers, body),) = system.deliveries
    assert refusal(SECRET, headers, body, now_s=int(time.time())) is None
    assert refusal(SECRET, headers, body + b" ", now_s=int(time.time())) == "forged"


def test_secrets_and_tokens_are_in_no_event(told):
    job, letter = told
    job.reply("bot", "APPROVED:")
    seen = json.dumps([job.collab().to_wire(), job.dialog().to_wire(), [it.to_wire() for it in job.events()]])
    assert SECRET not in seen
    assert letter["reply_token"] not in seen


def test_long_dialog_is_cut_at_its_start(installation, system):
    messages = [f"{number} " + "x" * 30_000 for number in range(20)]
    job = installation.submit("pair", {"bot": "partner", "ann": "noop"}, messages=messages)
    installation.work()
    ((_, body),) = system.deliveries
    (letter,) = system.letters
    assert len(body) <= 262_144
    assert [it["content"].split()[0] for it in letter["messages"]] == [str(n) for n in range(12, 20)]
    job.cancel()


def test_message_of_another_dialog_is_marked(installation, system):
    event = {"event_type": "dialog.message", "source": "x", "data": {"participant_id": "ann"}}
    earlier = {"role": "agent", "content": "Hello.", "event": event}
    job = installation.submit("pair", {"bot": "partner", "ann": "noop"}, messages=[earlier])
    installation.work()
    (letter,) = system.letters
    assert letter["messages"] == [
        {"speaker": None, "role": "agent", "content": "Hello.", "former_speaker": "ann"}
    ]
    job.cancel()


def test_files_of_messages_are_named_in_the_letter(installation, system):
    file = Attachment.of("a.txt", "text")
    job = installation.submit("pair", {"bot": "partner", "ann": "noop"}, attachments=[file])
    installation.work()
    (letter,) = system.letters
    assert letter["messages"][0]["attachments"] == [file.model_dump(mode="json")]
    job.cancel()


def test_failed_delivery_is_retried_with_the_same_id(installation, system):
    system.answers = [(500, {}), (503, {})]
    job = installation.submit("pair", {"ann": "noop", "bot": "partner"})
    installation.work()
    installation.sweep_until(job, lambda: len(system.deliveries) == 3)
    assert len({headers["webhook-id"] for headers, _ in system.deliveries}) == 1
    assert len({body for _, body in system.deliveries}) == 1
    failed = notes(job, "webhook.failed")
    assert [(event["attempt"], event["error"]) for event in failed] == [
        (1, "127.0.0.1 answered HTTP 500"),
        (2, "127.0.0.1 answered HTTP 503"),
    ]
    until(lambda: notes(job, "webhook.delivered"))
    assert [event["attempt"] for event in notes(job, "webhook.delivered")] == [3]
    job.cancel()


def test_failed_deliveries_fail_the_turn(installation, system):
    system.answers = [(500, {})] * 3
    job = installation.submit(
        "pair", {"ann": "noop", "bot": "partner"}, policy={"then": "substitute", "substitute": "noop"}
    )
    installation.work()
    installation.sweep_until(job, lambda: len(texts(job)) >= 2)
    assert sum(letter["turn_number"] == 2 for letter in system.letters) == 3
    assert texts(job)[:2] == ["ok", "ok"]
    job.cancel()


def test_a_refused_delivery_is_not_tried_again(installation, system):
    system.answers = [(403, {})]
    job = installation.submit("pair", {"ann": "noop", "bot": "partner"})
    installation.work()
    installation.sweep_until(job, lambda: job.state().is_final)
    assert result_of(job).detail == "bot: not delivered: 127.0.0.1 answered HTTP 403"
    assert len(system.deliveries) == 1


@pytest.mark.long
def test_delivery_of_a_dead_worker_is_repeated(open_installation, system, monkeypatch):
    installation = open_installation(lease_s=3)  # so long the next one leaves it to the first

    def die(*_):
        raise SystemExit("killed")

    with monkeypatch.context() as patched:
        patched.setattr("symposia.agents.kinds.external.post_webhook", die)
        job = installation.submit("pair", {"ann": "noop", "bot": "partner"})
        with pytest.raises(SystemExit):
            installation.work()
    assert system.deliveries == []
    assert len(job.pending()) == 1
    installation.sweep_until(job, lambda: system.deliveries)
    job.cancel()


def test_delivery_to_loopback_needs_an_allowed_network(make_installation, system, monkeypatch):
    monkeypatch.setenv("PARTNER_SECRET", SECRET)
    registry = REGISTRY.replace("{url}", system.url).replace('networks = ["127.0.0.0/8"]', "")
    installation = make_installation(registry)
    job = installation.submit("pair", {"ann": "noop", "bot": "partner"})
    installation.work()
    installation.sweep_until(job, lambda: job.state().is_final)
    assert "127.0.0.1 resolves to 127.0.0.1, which is neither public" in result_of(job).detail
    assert system.deliveries == []


# -- callbacks ------------------------------------------------------------------------------


def test_a_signed_callback_completes_the_turn(installation, callbacks, told):
    job, letter = told
    assert call(callbacks, letter, "APPROVED: looks right") == (200, {"status": "taken"})
    installation.work()
    result = result_of(job)
    assert (result.reason, texts(job)[-1]) == ("approved", "APPROVED: looks right")


def test_answer_may_come_before_the_delivery_ends(installation, system):
    job = installation.submit("pair", {"ann": "noop", "bot": "partner"})
    system.heard = lambda letter: job.reply("bot", "APPROVED: at once", token=letter["reply_token"])
    installation.work()
    assert result_of(job).reason == "approved"
    assert [event["participant_id"] for event in notes(job, "webhook.delivered")] == ["bot"]


@pytest.mark.parametrize(
    ("how", "status", "error"),
    [
        ({"secret": "whsec_Zm9yZ2Vk"}, 401, "unauthorized"),
        ({"headers": {"webhook-signature": ""}}, 401, "unauthorized"),
        ({"headers": {"webhook-timestamp": "now"}}, 401, "unauthorized"),
        ({"headers": {"webhook-id": "another"}}, 401, "unauthorized"),
        ({"age_s": 301}, 401, "expired"),
        ({"age_s": -330}, 401, "expired"),  # more than 300 s, also in the next second
        ({"session_id": "8a4d9a52-31ff-4c3b-a1f1-08c1c1b1b6c2"}, 401, "unauthorized"),
        ({"participant": "ann"}, 401, "unauthorized"),
        ({"participant": "zed"}, 401, "unauthorized"),
        ({"reply_token": "another"}, 409, "foreign"),
        ({"turn_number": 1}, 409, "double"),
        ({"turn_number": 9}, 409, "unasked"),
        ({"text": " "}, 422, "text: must not be blank; answer PASS to pass (got ' ')"),
        ({"text": 7}, 400, "must be JSON with session_id, turn_number, participant, reply_token and text"),
        ({"more": "x"}, 400, "must be JSON with session_id, turn_number, participant, reply_token and text"),
    ],
)
def test_invalid_callback_is_refused_without_effect(installation, callbacks, told, how, status, error):
    job, letter = told
    assert call(callbacks, letter, **{"text": "APPROVED:", **how}) == (status, {"error": error})
    assert len(job.pending()) == 1
    assert texts(job) == ["ok"]
    assert call(callbacks, letter, "APPROVED: the right one")[0] == 200


def test_a_replayed_callback_is_refused(installation, callbacks, told):
    job, letter = told
    fields = {name: letter[name] for name in ("session_id", "turn_number", "participant", "reply_token")}
    body = json.dumps({**fields, "text": "once more"}).encode()
    assert [post(callbacks, body)[0] for _ in range(2)] == [200, 409]
    installation.work()
    assert post(callbacks, body) == (409, {"error": "double"})
    assert texts(job).count("once more") == 1
    job.cancel()


def test_a_callback_after_the_deadline_is_late(installation, callbacks, system):
    bot = {"agent": "partner", "wait": {"deadline_s": 0.05}}
    job = installation.submit("round_robin", {"ann": "noop", "bot": bot}, stop={"max_turns": 2})
    installation.work()
    (letter,) = system.letters
    until(lambda: job.state().now_ms / 1000 > job.pending()[0].until.timestamp())
    assert call(callbacks, letter, "too late") == (409, {"error": "late"})
    installation.sweep_until(job, lambda: job.state().is_final)
    assert call(callbacks, letter, "far too late") == (409, {"error": "ended"})


def test_secret_of_another_system_is_refused(installation, callbacks, told):
    job, letter = told
    assert call(callbacks, letter, "mine now", secret="whsec_c29tZWJvZHkgZWxzZQ==") == (
        401,
        {"error": "unauthorized"},
    )
    job.cancel()


def test_a_persons_turn_is_not_open_to_callbacks(installation, callbacks):
    job = installation.submit("pair", {"ann": "noop"}, people=["ben"])
    installation.work()
    (question,) = job.pending()
    letter = question.model_dump(include={"session_id", "turn_number", "participant", "reply_token"})
    assert call(callbacks, letter, "I am Ben")[0] == 401
    job.cancel()


def test_other_requests_get_a_one_line_error(callbacks, installation):
    assert post(callbacks, b"not json")[0] == 400
    assert post(callbacks, b"[]")[0] == 400
    assert post(callbacks.replace("/replies", "/"), {})[0] == 404
    assert installation.client.jobs() == []


def test_address_with_invalid_callbacks_is_blocked(callbacks, told, monkeypatch):
    job, letter = told
    monkeypatch.setattr("symposia.workers.callbacks.FAILED_AUTH_PER_S", 0.0)
    statuses = [call(callbacks, letter, "no", secret="whsec_Zm9yZ2Vk")[0] for _ in range(70)]
    assert statuses[:50] == [401] * 50
    assert statuses[-5:] == [429] * 5
    assert call(callbacks, letter, "APPROVED: too early")[0] == 429
    monkeypatch.setattr("symposia.workers.callbacks.FAILED_AUTH_PER_S", 1_000.0)
    until(lambda: call(callbacks, letter, "APPROVED: at last")[0] == 200, what="it is believed again")
    job.cancel()


def test_failed_auth_limit_is_per_address():
    now = [0.0]
    doubts = FailedAuthLimiter(now=lambda: now[0])
    for _ in range(60):
        assert not doubts.is_limited("10.0.0.1")
        doubts.record_failure("10.0.0.1")
    assert (doubts.is_limited("10.0.0.1"), doubts.is_limited("10.0.0.2")) == (True, False)
    now[0] = 0.2
    assert not doubts.is_limited("10.0.0.1")


def test_too_long_body_is_not_read(callbacks, told):
    job, letter = told
    assert _refuses(lambda: call(callbacks, letter, "x" * 1_000_000))
    assert len(job.pending()) == 1
    job.cancel()


def _refuses(ask):
    """Return whether the server hangs up, or answers that the body is too large."""
    try:
        return ask()[0] >= 400
    except OSError:
        return True


def test_invalid_output_is_refused_and_the_question_stays_open(installation, system, callbacks):
    schema = {"type": "object", "required": ["count"]}
    job = installation.submit("round_robin", {"bot": "partner"}, stop={"max_turns": 1}, output=schema)
    installation.work()
    (letter,) = system.letters
    assert letter["output_schema"] == schema
    status, said = call(callbacks, letter, "[]")
    assert (status, "is not of type 'object'" in str(said)) == (422, True)
    assert call(callbacks, letter, '{"count": 2}')[0] == 200
    installation.work()
    assert job.result(timeout=patient(5)).output == {"count": 2}
