"""Identifiers and timestamps have one written form."""

import os
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta, timezone
from uuid import UUID, uuid1, uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from protocol import values
from symposia.models.text.ids import (
    AnyUuid,
    Id,
    Timestamp,
    derived_id,
    format_timestamp,
    is_timestamp,
    is_uuid4,
    new_id,
    role_uuid,
    timestamp_from_ms,
    utcnow,
)

ID, ANY_UUID, TIMESTAMP = TypeAdapter(Id), TypeAdapter(AnyUuid), TypeAdapter(Timestamp)
V1 = "123e4567-e89b-12d3-a456-426614174000"
V4 = "550e8400-e29b-41d4-a716-446655440000"


def test_new_id_is_a_unique_lower_case_uuid4():
    assert is_uuid4(new_id())
    assert len({new_id() for _ in range(1_000)}) == 1_000


def test_new_ids_of_threads_and_of_a_fork_differ():
    new_id()  # this thread now has octets for later ids
    with ThreadPoolExecutor(4) as threads:
        found = [it.result() for it in [threads.submit(new_id) for _ in range(1_000)]]
    readable, writable = os.pipe()
    if os.fork() == 0:
        os.write(writable, new_id().encode())
        os._exit(0)
    os.wait()
    found.append(os.read(readable, 36).decode())
    found.append(new_id())
    assert len(set(found)) == 1_002
    os.close(readable)
    os.close(writable)


@pytest.mark.parametrize(
    "text", ["", "x", V1, V4.upper(), f"{V4}\n", f" {V4}", f"{{{V4}}}", V4.replace("-", "")]
)
def test_only_the_written_form_counts_as_a_uuid_v4(text):
    assert not is_uuid4(text)


@pytest.mark.parametrize("value", [V4, V4.upper(), UUID(V4)])
def test_an_id_is_kept_in_lower_case(value):
    assert ID.validate_python(value) == V4


@pytest.mark.parametrize("value", ["", "x", V1, uuid1(), 5, None, b"x", f"{V4}\n"])
def test_other_text_is_no_uuid4(value):
    with pytest.raises(ValidationError, match="must be a UUID v4"):
        ID.validate_python(value)


def test_any_uuid_version_is_accepted_if_allowed():
    assert ANY_UUID.validate_python(V1.upper()) == V1
    with pytest.raises(ValidationError, match="must be a UUID"):
        ANY_UUID.validate_python("x")


@given(values.texts)
def test_derived_id_is_valid_and_stable(text):
    assert is_uuid4(derived_id(text))
    assert derived_id(text) == derived_id(text)
    assert derived_id(text) != derived_id(f"{text}.")


@given(values.texts)
def test_every_role_has_its_own_uuid(role):
    assert str(UUID(role_uuid(role))) == role_uuid(role)
    assert role_uuid(role) != role_uuid(f"{role}.")


def test_role_that_is_a_uuid_is_its_own_id():
    own = str(uuid4())
    assert role_uuid(own) == role_uuid(own.upper()) == own
    assert role_uuid(V1) == V1


def test_role_uuid_never_changes():
    assert role_uuid("coder") == "ce2ffb60-4848-5601-b04c-8f496cf950f5"


def test_now_is_in_utc_to_the_millisecond():
    before = datetime.now(UTC)
    now = utcnow()
    assert now.tzinfo is UTC
    assert now.microsecond % 1000 == 0
    assert before - timedelta(milliseconds=1) < now <= datetime.now(UTC)


@pytest.mark.parametrize(
    ("moment", "text"),
    [
        (datetime(2025, 12, 7, 1, 2, 3, 4567, tzinfo=UTC), "2025-12-07T01:02:03.004Z"),
        (datetime(2025, 12, 7, tzinfo=timezone(timedelta(hours=2))), "2025-12-06T22:00:00.000Z"),
        (datetime(1, 1, 1, tzinfo=UTC), "0001-01-01T00:00:00.000Z"),
    ],
)
def test_timestamp_is_written_with_milliseconds_and_z(moment, text):
    assert format_timestamp(moment) == text


@given(st.integers(-(10**12), 10**13))
def test_epoch_milliseconds_are_written_exactly(ms):
    moment = TIMESTAMP.validate_python(timestamp_from_ms(ms))
    assert (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1) == ms


@given(values.moments)
def test_timestamp_keeps_milliseconds(moment):
    kept = TIMESTAMP.validate_python(moment)
    assert timedelta(0) <= moment - kept < timedelta(milliseconds=1)
    assert TIMESTAMP.validate_json(TIMESTAMP.dump_json(kept)) == kept


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("2025-12-07T00:00:00Z", "2025-12-07T00:00:00.000Z"),
        ("2025-12-07t00:00:00z", "2025-12-07T00:00:00.000Z"),
        ("2025-12-07 00:00:00.1+00:30", "2025-12-06T23:30:00.100Z"),
        ("2025-12-07T00:00:00.123456789Z", "2025-12-07T00:00:00.123Z"),
    ],
)
def test_any_rfc_3339_timestamp_is_read(text, written):
    assert is_timestamp(text)
    assert format_timestamp(TIMESTAMP.validate_python(text)) == written


@pytest.mark.parametrize(
    "value",
    [
        "2025-12-07T00:00:00",
        "2025-12-07",
        "2025-12-07T00:00Z",
        "20251207T000000Z",
        "2025-13-07T00:00:00Z",
        "2025-12-07T00:00:00+0000",
        "\u0662025-12-07T00:00:00Z",
        "1700000000",
        1700000000,
        None,
        datetime(2025, 12, 7),  # noqa: DTZ001 - the point of it
    ],
)
def test_other_timestamp_forms_are_refused(value):
    with pytest.raises(ValidationError, match="must be a date and time with a time zone"):
        TIMESTAMP.validate_python(value)


@pytest.mark.parametrize("text", ["0001-01-01T00:00:00+01:00", "9999-12-31T23:59:59-01:00"])
def test_time_outside_the_utc_range_is_refused(text):
    with pytest.raises(ValidationError, match="must be between the years 1 and 9999"):
        TIMESTAMP.validate_python(text)
