"""Identifiers and points in time, in the one form that is written.

Identifiers are lower-case UUIDs of version 4 (identifiers.schema.json), timestamps are UTC
with milliseconds and `Z`. `Id` and `Timestamp` are the annotated types of every model.

Ids of traces and spans are derived from the session, so no message has to carry them. A trace has the
session's id without hyphens as its id. A span of a session or of an attempt has the last 16 digits of a
derived UUID, so that the same span also has an id in the protocol's form (`Collab.trace`).
"""

from __future__ import annotations

import hashlib
import os
import re
import threading
from datetime import UTC, datetime
from functools import lru_cache
from typing import Annotated
from uuid import NAMESPACE_URL, UUID, uuid5

from pydantic import BeforeValidator, Field, PlainSerializer

_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_UUID4 = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
_RFC3339 = re.compile(
    r"(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d:\d\d)(?:\.(\d+))?([Zz]|[+-]\d\d:\d\d)",
    re.ASCII,
)
_ROLES = uuid5(NAMESPACE_URL, "urn:symposia:role")


class _RandomOctets(threading.local):
    """Random octets of a thread, read from the kernel 256 ids at a time.

    Each read releases the interpreter's lock, and a thread of a busy worker waits until it gets it back.
    """

    _octets = b""
    _used = 0
    _process = 0

    def take(self) -> bytearray:
        """Return 16 octets that are used only here."""
        # A forked child has a copy of its parent's octets.
        if self._used == len(self._octets) or self._process != os.getpid():
            self._octets, self._used, self._process = os.urandom(4_096), 0, os.getpid()
        self._used += 16
        return bytearray(self._octets[self._used - 16 : self._used])


_random_octets = _RandomOctets()


def new_id() -> str:
    """Return a new identifier: a random UUID v4, lower-case. Made several times a turn, so without a `UUID` object."""
    return _format_uuid4(_random_octets.take())


def _format_uuid4(octets: bytearray) -> str:
    """Return a UUID of version 4 with these 16 octets, without the bits that the version sets."""
    octets[6] = octets[6] & 0x0F | 0x40
    octets[8] = octets[8] & 0x3F | 0x80
    text = octets.hex()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def is_uuid4(text: str) -> bool:
    """Return True for a UUID v4 in the form that is written: lower-case, with hyphens, nothing around it."""
    return _UUID4.fullmatch(text) is not None


def is_uuid(text: str) -> bool:
    """Return True for a UUID of any version in lower case, with hyphens, nothing around it."""
    return _UUID.fullmatch(text) is not None


def derived_id(text: str) -> str:
    """Return a UUID of version 4's form that is always the same for the same text."""
    return _format_uuid4(bytearray(hashlib.sha256(text.encode()).digest()[:16]))


@lru_cache(maxsize=4_096)
def role_uuid(role_id: str) -> str:
    """Return the role as a UUID, which event payloads ask for (mplp-map-event.schema.json, `$defs`).

    A role id that is a UUID is used as it is; any other text has one UUID v5 of its own.
    """
    lower = role_id.lower()
    return lower if is_uuid(lower) else str(uuid5(_ROLES, role_id))


def utcnow() -> datetime:
    """Return the current time in UTC, to the millisecond: the precision that is written."""
    return _to_ms(datetime.now(UTC))


def format_timestamp(moment: datetime) -> str:
    """Return `moment` (which carries a zone) as `YYYY-MM-DDTHH:MM:SS.mmmZ`, cut to milliseconds."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def timestamp_from_ms(ms: int) -> str:
    """Return milliseconds since the epoch as `YYYY-MM-DDTHH:MM:SS.mmmZ`."""
    return format_timestamp(moment_from_ms(ms))


def moment_from_ms(ms: int) -> datetime:
    """Return milliseconds since the epoch as a moment in UTC."""
    seconds, rest = divmod(ms, 1000)
    return datetime.fromtimestamp(seconds, UTC).replace(microsecond=rest * 1000)


def ms_from_moment(moment: datetime) -> int:
    """Return a moment (which carries a zone) as milliseconds since the epoch."""
    return round(moment.timestamp() * 1000)


def entry_key(entry_id: str) -> tuple[int, int]:
    """Return the id of a stream entry as numbers: milliseconds since the epoch, and counter."""
    at_ms, _, counter = entry_id.partition("-")
    return int(at_ms), int(counter or 0)


def is_timestamp(text: str) -> bool:
    """Return True for an RFC 3339 date and time with a zone."""
    return _parse(text) is not None


def _to_ms(moment: datetime) -> datetime:
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000)


def _read_id(value: object) -> str:
    text = str(value).lower() if isinstance(value, str | UUID) else ""
    if not is_uuid4(text):
        raise ValueError("must be a UUID v4")
    return text


def _read_uuid(value: object) -> str:
    text = str(value).lower() if isinstance(value, str | UUID) else ""
    if not is_uuid(text):
        raise ValueError("must be a UUID")
    return text


def _read_timestamp(value: object) -> datetime:
    if isinstance(value, str):
        return _read_timestamp_text(value)
    return _checked_moment(value if isinstance(value, datetime) else None)


@lru_cache(maxsize=4096)
def _read_timestamp_text(text: str) -> datetime:
    # Messages are read again in each turn, and a message and its event have the same time.
    return _checked_moment(_parse(text))


def _checked_moment(moment: datetime | None) -> datetime:
    if moment is None or moment.tzinfo is None:
        raise ValueError("must be a date and time with a time zone, such as 2025-12-07T00:00:00.000Z")
    try:
        return _to_ms(moment.astimezone(UTC))
    except OverflowError:
        raise ValueError("must be between the years 1 and 9999 in UTC") from None


def _parse(text: str) -> datetime | None:
    """Return an RFC 3339 date-time. `datetime.fromisoformat` alone accepts other formats as well."""
    match = _RFC3339.fullmatch(text)
    if match is None:
        return None
    day, time, fraction, zone = match.groups()
    try:
        return datetime.fromisoformat(f"{day}T{time}.{(fraction or '0')[:6]:0<6}{zone.upper()}")
    except ValueError:
        return None


#: An identifier: read in either case (or as a `uuid.UUID`), kept and written as a lower-case UUID v4.
Id = Annotated[str, BeforeValidator(_read_id)]

#: A UUID of any version, which is all that the MAP event schema asks for; kept in lower case.
AnyUuid = Annotated[str, BeforeValidator(_read_uuid)]

#: A `datetime` with a zone, or RFC 3339 text; kept in UTC to the millisecond, written with `Z`.
Timestamp = Annotated[
    datetime,
    BeforeValidator(_read_timestamp),
    PlainSerializer(format_timestamp, return_type=str, when_used="json"),
]


def normalize_id(text: object) -> str:
    """Normalise an id; return '' if it is not a UUID v4."""
    lower = text.lower() if isinstance(text, str) else ""
    return lower if is_uuid4(lower) else ""


#: Name of a schedule, root, job, panel or delivery.
ResourceName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$")]


def trace_id(session_id: str) -> str:
    """Return the id of a session's trace: 32 hexadecimal digits."""
    return session_id.replace("-", "")


def session_span_uuid(session_id: str) -> str:
    """Return the id of a session's span in the protocol's form."""
    return derived_id(f"{session_id}:session")


def session_span_id(session_id: str) -> str:
    """Return the id of a session's span: 16 hexadecimal digits."""
    return _span_id(session_span_uuid(session_id))


def attempt_span_id(session_id: str, turn: int, attempt: int) -> str:
    """Return the id of the span of one attempt of a turn: 16 hexadecimal digits."""
    return _span_id(derived_id(f"{session_id}:{turn}:{attempt}"))


def _span_id(uuid: str) -> str:
    # The variant bits of a UUID are in this half, so it is never zero, which no span id may be.
    return uuid.replace("-", "")[16:]
