"""Values of the parameters of a query, and what is wrong with them. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from functools import lru_cache

from ..errors import InvalidInput
from ..text.durations import read_span

#: Maximum characters of a text.
MAX_TEXT = 500
#: Maximum amount, in US dollars.
MAX_USD = 1_000_000


@lru_cache(maxsize=32)
def moment_ms(text: str, now_ms: int) -> int | None:
    """Return a time in milliseconds since the epoch; None for an empty text.

    Raises:
        ValueError: The text is neither an age such as `24h` nor a date or time in ISO 8601 (UTC without a zone).
    """
    if not text:
        return None
    try:
        # A number without a unit is no age, because `read_span` reads seconds.
        seconds = 0 if text.isdigit() else read_span(text)
    except ValueError:
        seconds = 0
    if seconds > 0:
        return now_ms - seconds * 1000
    try:
        moment = datetime.fromisoformat(text)
        return round((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000)
    except OverflowError as error:
        raise ValueError(str(error)) from None


class ParamReader:
    """Reader of parameters, which collects a line for each wrong value."""

    def __init__(self, params: Mapping[str, Sequence[str]]) -> None:
        self._params = params
        self.faults: list[InvalidInput] = []

    def text(self, name: str) -> str:
        """Return a text without spaces around; one that is too long is cut."""
        value = (list(self._params.get(name, ())) or [""])[-1]
        # Databases take neither NUL nor lone surrogates.
        value = value.replace("\x00", "").encode(errors="replace").decode().strip()
        if len(value) > MAX_TEXT:
            self._refuse(name, value, f"only the first {MAX_TEXT} characters are used")
        return value[:MAX_TEXT].rstrip()

    def choices(
        self,
        name: str,
        allowed: Sequence[str],
        *,
        also: Sequence[str] = (),
        aliases: Mapping[str, str] | None = None,
    ) -> tuple[str, ...]:
        """Return the values of a list, in their order; `also` and `aliases` are values of earlier versions."""
        values = [part.strip() for value in self._params.get(name, ()) for part in value.split(",")]
        values = [(aliases or {}).get(value, value) for value in values if value]
        for value in values:
            if value not in (*allowed, *also):
                self._refuse(name, value, f"must be one of {', '.join(allowed)}")
        return tuple(dict.fromkeys(value for value in values if value in (*allowed, *also)))

    def choice(self, name: str, allowed: Sequence[str]) -> str:
        """Return one of the allowed values; empty for none."""
        value = self.text(name)
        if value and value not in allowed:
            self._refuse(name, value, f"must be one of {', '.join(allowed)}")
            return ""
        return value

    def order(self, name: str, allowed: Sequence[str]) -> str:
        """Return one of the allowed values, with `-` for descending; empty for none."""
        value = self.text(name)
        if value and value.removeprefix("-") not in allowed:
            self._refuse(name, value, f"must be one of {', '.join(allowed)}, with `-` for descending")
            return ""
        return value

    def moment(self, name: str) -> str:
        """Return the text of a time; empty for none."""
        value = self.text(name)
        try:
            moment_ms(value, 0)
        except ValueError:
            self._refuse(name, value, "must be an age such as 24h or 7d, or a time such as 2026-01-31T14:00")
            return ""
        return value

    def micros(self, name: str) -> int:
        """Return an amount in US dollars as millionths."""
        value = self.text(name)
        try:
            usd = Decimal(value or 0)
        except InvalidOperation:
            usd = Decimal("NaN")
        if not (usd.is_finite() and 0 <= usd <= MAX_USD):
            self._refuse(name, value, f"must be an amount in US dollars, at most {MAX_USD:,}")
            return 0
        return int(usd * 1_000_000)

    def number(self, name: str, default: int, *, most: int) -> int:
        """Return a whole number from 1 to `most`."""
        value = self.text(name)
        if not value:
            return default
        if not (value.isascii() and value.isdigit() and len(value) < 10 and 1 <= int(value) <= most):
            self._refuse(name, value, f"must be a whole number from 1 to {most:,}")
            return default
        return int(value)

    def _refuse(self, name: str, value: str, rule: str) -> None:
        self.faults.append(InvalidInput(name, value, rule))
