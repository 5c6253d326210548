"""What a model's provider takes a minute, shared by all workers."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import pytest

from checks import ledger
from live import result_of
from servers.model_stub import StubModel, completion, refusal
from sessions.inline_installation import InlineInstallation
from symposia.models.sessions.limits import Rate
from symposia.models.sessions.stop_conditions import MaxRounds
from symposia.models.turns.turn import Usage
from symposia.state.redis.connect import connect
from symposia.state.redis.keys import rate_key, session_key
from symposia.state.redis.readers import server_ms
from symposia.state.usage_limits import Permit, RateLimiter

REQUESTS = Rate(model="house", requests=5)
TOKENS = Rate(model="house", tokens=100, turn_tokens=40)


@pytest.fixture
def client(redis_url):
    with connect(redis_url) as client:
        yield client


@pytest.fixture
def book(client):
    return RateLimiter(client)


def pass_time(client, seconds):
    """What the passing of time does: what was admitted lies further back."""
    key = rate_key("house")
    entries = client.hgetall(key)
    client.delete(key)
    aged = {str(int(second) - seconds): text for second, text in entries.items() if second != "hint"}
    if aged:
        client.hset(key, mapping=aged)
        client.expire(key, 100)


def test_requests_per_minute_are_limited(book):
    answers = [book.admit(REQUESTS) for _ in range(8)]
    assert [isinstance(answer, Permit) for answer in answers] == [True] * 5 + [False] * 3


def test_each_delayed_request_gets_its_own_time(book, client):
    began_ms = server_ms(client)
    for _ in range(5):
        book.admit(REQUESTS)
    waits = [book.admit(REQUESTS) for _ in range(3)]
    assert 60_000 - (server_ms(client) - began_ms) <= waits[0] <= 61_000
    assert all(later - sooner > 5_000 for sooner, later in pairwise(waits))


def test_tokens_per_minute_are_limited_and_returned(book):
    first, second, third = (book.admit(TOKENS) for _ in range(3))
    assert isinstance(first, Permit)
    assert isinstance(second, Permit)
    assert isinstance(third, int)
    book.record_usage(first, Usage(output_tokens=10, requests=1))
    assert isinstance(book.admit(TOKENS), Permit)


def test_unused_permit_is_returned(book):
    for permit in [book.admit(REQUESTS) for _ in range(5)]:
        book.record_usage(permit, Usage())
    assert isinstance(book.admit(REQUESTS), Permit)


def test_turn_with_several_requests_counts_them_all(book):
    book.record_usage(book.admit(REQUESTS), Usage(requests=5))
    assert isinstance(book.admit(REQUESTS), int)


def test_turn_larger_than_the_minute_limit_runs_alone(book):
    large = Rate(model="house", tokens=100, turn_tokens=5_000)
    assert isinstance(book.admit(large), Permit)
    assert isinstance(book.admit(TOKENS), int)


def test_limit_is_free_again_after_a_minute(book, client):
    for _ in range(6):
        book.admit(REQUESTS)
    pass_time(client, 62)
    assert isinstance(book.admit(REQUESTS), Permit)
    book.record_usage(Permit("house", 1, 0), Usage(requests=9))
    assert len(client.hgetall(rate_key("house"))) == 1, "what is over is forgotten"


def test_rate_limit_key_expires(book, client):
    book.admit(REQUESTS)
    assert 0 < client.ttl(rate_key("house")) <= 180


def test_concurrent_requests_share_one_minute_limit(book):
    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(lambda _: book.admit(REQUESTS), range(80)))
    assert sum(isinstance(answer, Permit) for answer in answers) == 5


# -- in sessions ---------------------------------------------------------------------------------

pytestmark = pytest.mark.real_models

REGISTRY = """
[models.house]
model = "stub"
base_url = "{url}"
requests_per_minute = 2

[agents.writer]
kind = "llm"
model = "house"
"""


@pytest.fixture
def limited(tmp_path, redis_url):
    with StubModel() as stub:
        installation = InlineInstallation(tmp_path, redis_url, REGISTRY.format(url=stub.url))
        yield installation, stub
        installation.close()
    with connect(redis_url) as client:
        for session_id in ledger.session_ids(client):
            ledger.check(client, session_id)


def let_go_on(installation, job, number):
    """Simulate the passing of time for a deferred turn."""
    turns, client = session_key(job.id, "turns"), installation.runtime.store.client
    record = json.loads(client.hget(turns, number))
    client.hset(turns, str(number), json.dumps({**record, "not_before": 1, "dispatched_ms": 1}))


def test_turn_beyond_the_rate_limit_is_delayed(limited, client):
    installation, stub = limited
    job = installation.submit("round_robin", {"ann": "writer"}, stop=MaxRounds(3))
    words = installation.work()
    assert words[-1] == "deferred"
    assert len(stub.asked) == 2
    record = job.state().records[3]
    assert (record.status, record.grants, record.failures) == ("planned", 0, 0)
    due_ms = client.zscore("symposia:due", job.id)
    assert due_ms - installation.runtime.index.now_ms() < 62_000

    pass_time(client, 62)
    let_go_on(installation, job, 3)
    installation.sweep_until(job, lambda: job.state().is_final)
    assert result_of(job).reason == "max_rounds"
    assert len(stub.asked) == 3


def test_short_delay_is_waited_for_in_the_worker(limited, client):
    installation, stub = limited
    job = installation.submit("round_robin", {"ann": "writer"}, stop=MaxRounds(3))
    assert installation.work()[-1] == "deferred"
    pass_time(client, 59)
    let_go_on(installation, job, 3)
    installation.sweep_until(job, lambda: job.state().is_final)
    assert len(stub.asked) == 3


def test_repeated_message_takes_no_second_permit(limited, client):
    installation, stub = limited
    installation.submit("round_robin", {"ann": "writer"}, stop=MaxRounds(2))
    installation.deliver()
    call = installation.queue.waiting[0]
    installation.deliver()
    installation.queue.waiting.extendleft([call] * 3)
    installation.work()
    assert len(stub.asked) == 2


@pytest.mark.parametrize("how", ["substitute", "reassign"])
def test_substitute_counts_against_the_rate_limit(limited, client, how):
    installation, stub = limited
    fails = {"agent": "noop", "parameters": {"replies": [{"fail": "no"}]}}
    absent = {"agent": "human", "wait": {"deadline_s": 0.05, "then": "reassign", "to": "writer"}}
    policy = {"attempts": 1, "then": "substitute", "substitute": "writer"} if how == "substitute" else {}
    seat = fails if how == "substitute" else absent
    job = installation.submit("round_robin", {"ann": seat}, stop=MaxRounds(1), policy=policy)
    installation.work()
    installation.sweep_until(job, lambda: job.state().is_final)
    assert len(stub.asked) == 1
    asked = [value.split()[0] for name, value in client.hgetall(rate_key("house")).items() if name != "hint"]
    assert sum(map(int, asked)) == 1


# -- models to fall back on ----------------------------------------------------------------------

FALLBACKS = """
[models.first]
model = "first"
base_url = "{url}"
retries = 0

[models.house]
model = "second"
base_url = "{url}"
requests_per_minute = 1

[models.last]
model = "third"
base_url = "{url}"

[agents.steady]
kind = "llm"
model = "first"
fallback = ["house"]

[agents.steadier]
kind = "llm"
model = "first"
fallback = ["house", "last"]
"""


@pytest.fixture
def falling(tmp_path, redis_url):
    with StubModel() as stub:
        installation = InlineInstallation(tmp_path, redis_url, FALLBACKS.format(url=stub.url))
        yield installation, stub
        installation.close()
    with connect(redis_url) as client:
        for session_id in ledger.session_ids(client):
            ledger.check(client, session_id)


def models(stub):
    return [asked.body["model"] for asked in stub.asked]


def test_fallback_model_has_its_own_rate_limit(falling, client):
    installation, stub = falling
    stub.answers(refusal(401, "no"), completion("one"), refusal(401, "no"), completion("two"))
    job = installation.submit("round_robin", {"ann": "steadier"}, stop=MaxRounds(2))
    installation.work()
    assert models(stub) == ["first", "second", "first", "third"]
    assert [it.content for it in job.messages()] == ["one", "two"]


def test_turn_waits_until_a_fallback_has_room(falling, client):
    installation, stub = falling
    stub.answers(
        refusal(401, "no"), completion("one"), refusal(401, "no"), refusal(401, "no"), completion("two")
    )
    policy = {"attempts": 2, "backoff_s": 0}
    job = installation.submit("round_robin", {"ann": "steady"}, stop=MaxRounds(2), policy=policy)
    installation.work()
    record = job.state().records[2]
    assert (models(stub), record.status, record.failures) == (["first", "second", "first"], "planned", 1)
    assert client.zscore("symposia:due", job.id) - installation.runtime.index.now_ms() < 62_000

    pass_time(client, 62)
    let_go_on(installation, job, 2)
    installation.sweep_until(job, lambda: job.state().is_final)
    assert models(stub)[3:] == ["first", "second"]
    assert [it.content for it in job.messages()] == ["one", "two"]
