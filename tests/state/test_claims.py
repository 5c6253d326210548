"""Claims: one atomic step decides who is first."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from symposia.state.claims import ClaimStore
from symposia.state.redis.connect import connect
from symposia.state.redis.keys import claim_key


def test_one_of_many_takes_a_free_claim(redis_url):
    with connect(redis_url) as redis, ThreadPoolExecutor(8) as pool:
        claims = ClaimStore(redis)
        values = [f"value {number}" for number in range(16)]
        found = list(pool.map(lambda value: claims.take("c", value, expected="", ttl_ms=60_000), values))
        assert len(set(found)) == 1
        assert claims.read("c") == found[0]
        assert 0 < redis.pttl(claim_key("c")) <= 60_000


def test_claim_moves_only_from_the_expected_value(redis_url):
    with connect(redis_url) as redis:
        claims = ClaimStore(redis)
        assert claims.read("c") == ""
        assert claims.take("c", "a", expected="", ttl_ms=60_000) == "a"
        assert claims.take("c", "b", expected="other", ttl_ms=60_000) == "a"
        assert claims.take("c", "b", expected="a", ttl_ms=60_000) == "b"
