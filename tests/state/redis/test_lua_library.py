"""The library module `events` and the clock: timestamps and identifiers."""

import re
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from scaling import scaled_examples
from symposia.models.text.ids import is_uuid4, timestamp_from_ms
from symposia.state.redis import scripts
from symposia.state.redis.readers import server_ms

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
LAST_MS = int((datetime(2100, 12, 31, 23, 59, 59, tzinfo=UTC) - EPOCH).total_seconds() * 1000) + 999
#: A hundred of them in one call: what is tested is Lua, not the network.
BATCH = 100


@pytest.fixture
def lua(client):
    def call(expression: str, values: list) -> list[str]:
        text = "\n".join(scripts._library("test", ["events"])) + "\nlocal out = {}\n"
        text += f"for i, value in ipairs(ARGV) do out[i] = {expression} end return out"
        return client.eval(text, 1, "symposia:{an-id}:session", *values)

    return call


fixture_is_pure = settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=scaled_examples(30)
)


@fixture_is_pure
@given(moments=st.lists(st.integers(0, LAST_MS), min_size=1, max_size=BATCH))
@example(moments=[0, 1, 999, 1_000, 86_399_999, 86_400_000, LAST_MS])
def test_timestamp_equals_that_of_python(lua, moments):
    written = lua("iso_time(tonumber(value))", moments)
    assert written == [timestamp_from_ms(ms) for ms in moments]
    python = [(EPOCH + timedelta(milliseconds=ms)).isoformat(timespec="milliseconds") for ms in moments]
    assert written == [text.replace("+00:00", "Z") for text in python]


def test_days_around_leap_years_are_right(lua):
    days = [datetime(year, month, day, tzinfo=UTC) for year in range(1970, 2101) for month, day in EDGES]
    days += [datetime(year, 2, 28, tzinfo=UTC) + timedelta(days=1) for year in range(1970, 2101)]
    moments = [int((day - EPOCH).total_seconds()) * 1000 for day in days]
    assert lua("iso_time(tonumber(value))", moments) == [timestamp_from_ms(ms) for ms in moments]


EDGES = [(1, 1), (2, 28), (3, 1), (6, 30), (12, 31)]


@fixture_is_pure
@given(seeds=st.lists(st.text(), min_size=1, max_size=BATCH, unique=True))
def test_uuid_is_version_4_and_depends_on_its_seed(lua, seeds):
    raw = [seed.encode("utf-8", "surrogatepass") for seed in seeds]
    made = lua("uuid(value)", raw)
    assert all(is_uuid4(text) for text in made)
    assert len(set(made)) == len(seeds)
    assert lua("uuid(value)", raw) == made


def test_uuid_matches_the_pattern_of_the_protocol(lua, mplp):
    pattern = mplp.document("schemas/v2/common/identifiers.schema.json")["pattern"]
    assert all(re.fullmatch(pattern, text) for text in lua("uuid(value)", list(range(1_000))))


def test_time_does_not_change_within_a_script(lua, client):
    before = server_ms(client)
    first, second = lua("NOW", [1, 2])
    assert first == second
    assert before <= first <= server_ms(client)
