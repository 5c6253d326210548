"""Sentences of the pages: texts with moments and commands in them. Pure.

A moment is shown in the time zone of the reader: a page does this itself, so a sentence keeps the number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from html import escape
from typing import Literal, TypeAlias

from .texts import sentence_duration
from .visible import make_visible


@dataclass(frozen=True, slots=True)
class At:
    """A moment, in milliseconds since the epoch."""

    ms: int

    def __str__(self) -> str:
        return f"{self._moment:%H:%M:%S} UTC"

    @property
    def iso(self) -> str:
        """Return the moment as ISO 8601."""
        return self._moment.isoformat().replace("+00:00", "Z")

    @property
    def html(self) -> str:
        """Return the element of the moment; the page shows it in its own time zone."""
        return f'<time class="clock" datetime="{self.iso}">{self}</time>'

    @property
    def _moment(self) -> datetime:
        return datetime.fromtimestamp(self.ms / 1000, UTC)


@dataclass(frozen=True, slots=True)
class Code:
    """A command."""

    text: str

    def __str__(self) -> str:
        return self.text

    @property
    def html(self) -> str:
        """Return the element of the command."""
        return f"<code>{_html_of(self.text)}</code>"


@dataclass(frozen=True, slots=True)
class Name:
    """A name or a text of a person or an agent, which may be written from right to left."""

    text: str

    def __str__(self) -> str:
        return self.text

    @property
    def html(self) -> str:
        """Return the element of the name."""
        return f"<bdi>{_html_of(self.text)}</bdi>"


@dataclass(frozen=True, slots=True)
class Span:
    """A span of time that grows: a screen reader does not repeat the sentence for it."""

    ms: float

    def __str__(self) -> str:
        return sentence_duration(self.ms)

    @property
    def html(self) -> str:
        """Return the element of the span."""
        return f'<span aria-hidden="true">{self}</span>'


Part: TypeAlias = str | At | Code | Name | Span
#: Colour of a notice: `bad` (failed, lost), `warn` (needs a person), `good`, `quiet` (ended, waits), or that of activity.
Tone = Literal["bad", "warn", "good", "quiet", ""]


@dataclass(frozen=True, slots=True)
class Notice:
    """What is the case, since when, and what happens next."""

    tone: Tone
    #: The first sentence.
    lead: tuple[Part, ...]
    text: tuple[Part, ...] = ()

    def __str__(self) -> str:
        return " ".join(filter(None, (plain(self.lead), plain(self.text))))

    @property
    def lead_html(self) -> str:
        """Return the first sentence as HTML."""
        return _parts_html(self.lead)

    @property
    def text_html(self) -> str:
        """Return the other sentences as HTML."""
        return _parts_html(self.text)


def _parts_html(parts: Sequence[Part]) -> str:
    return "".join(_html_of(part) if isinstance(part, str) else part.html for part in parts)


def _html_of(text: str) -> str:
    return escape(make_visible(text))


def plain(parts: Sequence[Part]) -> str:
    """Return a sentence as plain text, its moments in UTC."""
    return "".join(map(str, parts))
