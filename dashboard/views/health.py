"""State and freshness of the data that the pages show. Pure.

`dashboard/live/health_feed.py` keeps the newest state; every page, JSON answer and stream carries it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypedDict

from ...models.text.words import count_of
from .notices import At, Code, Name, Notice, Part, Span

#: Milliseconds after which data counts as late, and as stale. `static/health.js` has the same numbers.
LATE_MS = 5_000
STALE_MS = 15_000

Level = Literal["live", "late", "stale", "ended"]
#: Level -> word, and class of the element.
_WORDS: dict[Level, tuple[str, str]] = {
    "live": ("Live", ""),
    "late": ("Late", "is-late"),
    "stale": ("Stale", "is-lost"),
    "ended": ("Ended", "is-ended"),
}


@dataclass(frozen=True, slots=True)
class Health:
    """What is known of Redis and of the workers. Times are in milliseconds since the epoch, by the server's clock."""

    #: When Redis answered last; None: never in this process.
    read_ms: int | None = None
    #: Since when Redis does not answer; None: it answers.
    redis_away_ms: int | None = None
    #: Why it does not answer.
    error: str = ""
    #: Whether a worker runs; None: unknown.
    has_workers: bool | None = None
    #: Since when none runs; None: unknown.
    no_worker_ms: int | None = None
    #: Number of sessions that cannot go on without a worker.
    waiting: int = 0
    #: Name of the worker that was lost last, without a worker after it.
    last_worker: str = ""


@dataclass(frozen=True, slots=True)
class Freshness:
    """How old the data of a page is."""

    level: Level
    #: Time of the data; None: there is none.
    at_ms: int | None

    @property
    def word(self) -> str:
        """Return the word of the level."""
        return _WORDS[self.level][0]

    @property
    def at_html(self) -> str:
        """Return the element of the time. A screen reader does not repeat it."""
        return "" if self.at_ms is None else f'<span aria-hidden="true">{At(self.at_ms).html}</span>'

    @property
    def style(self) -> str:
        """Return the class of the element."""
        return f"fresh {_WORDS[self.level][1]}".strip()


def freshness(health: Health, now_ms: int, *, ended_ms: int | None = None) -> Freshness:
    """Return how old the data is.

    Args:
        health: The state of the data.
        now_ms: The time by the server's clock.
        ended_ms: When what the page shows has ended for good; None: it has not.
    """
    if ended_ms is not None:
        return Freshness("ended", ended_ms)
    if health.redis_away_ms is not None or health.read_ms is None:
        return Freshness("stale", health.read_ms)
    age_ms = now_ms - health.read_ms
    level: Level = "stale" if age_ms > STALE_MS else "late" if age_ms > LATE_MS else "live"
    return Freshness(level, health.read_ms)


def health_notice(health: Health, now_ms: int) -> Notice | None:
    """Return what is wrong with Redis or the workers; None: nothing."""
    if (since_ms := health.redis_away_ms) is not None:
        rows: tuple[Part, ...] = (
            ("No data was read yet.",)
            if health.read_ms is None
            else ("Rows and counts are from ", At(health.read_ms), ".")
        )
        return Notice(
            "bad",
            ("Redis does not answer since ", At(since_ms), " (", Span(now_ms - since_ms), ")."),
            (*rows, " Buttons work again when it answers. It is asked again every second."),
        )
    if health.has_workers is not False:
        return None
    lost: tuple[Part, ...] = ()
    if health.last_worker:
        lost = (" The last one, ", Name(health.last_worker), ", was lost.")
    return Notice("bad", without_worker(health.no_worker_ms, now_ms), (*_waiting(health), *lost))


def without_worker(since_ms: int | None, now_ms: int) -> tuple[Part, ...]:
    """Return the sentence that no worker runs; `since_ms` None: the time is unknown."""
    if since_ms is None:
        return ("No worker is running.",)
    return "No worker since ", At(since_ms), " (", Span(now_ms - since_ms), ")."


def _waiting(health: Health) -> tuple[Part, ...]:
    if not health.waiting:
        return "New sessions wait until a worker starts: ", Code("symposia worker"), "."
    sessions = count_of(health.waiting, "session", spec=",")
    who = "it goes" if health.waiting == 1 else "they go"
    return (
        f"{sessions} cannot go on; nothing is lost, and {who} on when a worker starts: ",
        Code("symposia worker"),
        ".",
    )


class HealthJson(TypedDict):
    """The state as JSON. Times are in milliseconds since the epoch, by the server's clock."""

    #: `live`, `late` or `stale`.
    level: Level
    now_ms: int
    read_ms: int | None
    redis_away_ms: int | None
    error: str | None
    has_workers: bool | None
    no_worker_ms: int | None
    #: Number of sessions that cannot go on without a worker.
    waiting: int
    #: What is wrong, in one text; None: nothing.
    notice: str | None


def health_json(health: Health, now_ms: int) -> HealthJson:
    """Return the state for programs."""
    notice = health_notice(health, now_ms)
    return HealthJson(
        level=freshness(health, now_ms).level,
        now_ms=now_ms,
        read_ms=health.read_ms,
        redis_away_ms=health.redis_away_ms,
        error=health.error or None,
        has_workers=health.has_workers,
        no_worker_ms=health.no_worker_ms,
        waiting=health.waiting,
        notice=None if notice is None else str(notice),
    )
