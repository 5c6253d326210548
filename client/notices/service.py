"""The sending of notices: a background loop of the worker starts what is due, outside of turns and of the sweep.

The marker in the session's slot decides who sends a notice. It is `claimed` before the host is called, `sending` before
the first byte of the message is sent, and `sent` after the host has accepted it. So another worker repeats an attempt
that was lost before `sending`, and none after it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from threading import BoundedSemaphore, Thread
from typing import TYPE_CHECKING

from redis import Redis

from ...agents.people import People, PersonEntry
from ...config.settings import Settings
from ...jobs.questions import question_id
from ...models.errors import InvalidInput, SessionNotFound, StateError
from ...models.text.ids import derived_id
from ...state.notices import NoticeId, NoticeStore, ms_of_next_hour
from ...state.sessions.store import SessionStore
from ...tasks.views.session_views import read_facts
from ...tasks.waiting.parked_turn import ParkedTurn, read_all_questions
from . import senders
from .links import LONGEST_S, AnswerLink, link_secret
from .message import Notice
from .senders import NoticeFailed, send_notice
from .stages import due_stages, next_stage_ms

if TYPE_CHECKING:
    from celery import Celery

log = logging.getLogger(__name__)

#: Maximum number of sessions whose notices are sent at the same time.
_MAX_THREADS = 8
#: Milliseconds before the second attempt, and the maximum between two.
_FIRST_DELAY_MS, _MAX_DELAY_MS = 10_000, 3_600_000
_DAY_MS, _YEAR_MS = 86_400_000, 31_536_000_000


class _ClaimLostError(Exception):
    """Another worker has the notice by now."""


class Notifier:
    """Sender of notices.

    Args:
        redis: Connection that decodes responses.
        settings: The settings.
        people: Returns the current table of people.
        fault_hook: Called at each boundary of a notice, with its name; in production it does nothing.
    """

    def __init__(
        self,
        redis: Redis,
        settings: Settings,
        people: Callable[[], People],
        *,
        fault_hook: Callable[[str], object] = lambda _: None,
    ) -> None:
        self._sessions = SessionStore(redis)
        self._store = NoticeStore(redis)
        self._settings = settings
        self._people = people
        self._fault_hook = fault_hook
        self._places = BoundedSemaphore(_MAX_THREADS)

    @property
    def _lease_ms(self) -> int:
        return int(2_000 * senders.TIMEOUT_S)

    def start_due(self) -> int:
        """Start the sending of what is due, in other threads; return the number of sessions."""
        if not any(person.channels for person in self._people().values()):
            return 0
        free = 0
        while free < _MAX_THREADS and self._places.acquire(blocking=False):
            free += 1
        started = 0
        try:
            for session_id in self._store.index.claim(limit=free, hold_ms=self._lease_ms) if free else ():
                started += 1
                Thread(target=self._run, args=(session_id,), name="symposia-notices", daemon=True).start()
        finally:
            for _ in range(free - started):
                self._places.release()
        return started

    def _run(self, session_id: str) -> None:
        try:
            self.send_due(session_id)
        except StateError as error:
            log.warning("notices of session %s not sent, will retry: %s", session_id, error)
        except Exception:
            log.exception("notices of session %s not sent, will retry", session_id)
        finally:
            self._places.release()

    def send_due(self, session_id: str) -> None:
        """Send what is due for a session, and set the time of the next check."""
        claimed_at = self._store.index.time_of(session_id)
        times_ms: list[int] = []
        for parked in self._questions(session_id):
            if (at_ms := next_stage_ms(parked)) is not None:
                times_ms.append(at_ms)
            times_ms += self._send_stages(parked)
        if times_ms:
            self._store.index.reschedule(session_id, min(times_ms))
        elif claimed_at is not None:
            self._store.index.drop(session_id, claimed_at)

    def _questions(self, session_id: str) -> list[ParkedTurn]:
        """Return the open questions to people of a session."""
        try:
            state = self._sessions.state(session_id)
            if state.is_final:
                return []
            facts = read_facts(session_id, self._sessions.documents(session_id), state.opened_ms)
        except SessionNotFound:
            return []
        return [parked for parked in read_all_questions(facts, state) if parked.waiting.is_for_people]

    def _send_stages(self, parked: ParkedTurn) -> list[int]:
        """Send what is due for a question; return the times of further attempts, in milliseconds since the epoch."""
        people, session_id = self._people(), parked.facts.session_id
        question = question_id(parked.parking.reply_token)
        markers = self._store.read(session_id)
        times_ms = []
        for due in due_stages(parked):
            person = people.get(due.person)
            for channel in () if person is None else person.channels:
                notice = NoticeId(question, due.person, due.stage, channel)
                marker = markers.get(notice.field)
                if person is None or (marker is not None and marker.is_over):
                    continue
                if (at_ms := self._send(parked, notice, person)) is not None:
                    times_ms.append(at_ms)
        return times_ms

    def _send(self, parked: ParkedTurn, notice: NoticeId, person: PersonEntry) -> int | None:
        """Send a notice if it is not sent yet; return the time of the next attempt."""
        session_id, now_ms = parked.facts.session_id, parked.state.now_ms
        take_back = partial(self._store.count, notice.person, now_ms=now_ms, by=-1)
        if self._store.count(notice.person, now_ms=now_ms) > self._settings.notices_per_hour:
            take_back()
            log.warning("too many notices to %s in this hour, waiting", notice.person)
            return now_ms + ms_of_next_hour(now_ms)
        ttl_ms = (parked.parking.until_ms or now_ms + _YEAR_MS) - now_ms + _DAY_MS
        claim = self._store.claim(session_id, notice, lease_ms=self._lease_ms, ttl_ms=ttl_ms)
        if claim.attempt is None:
            take_back()
            return claim.until_ms
        self._fault_hook("notice-claimed")
        mark = partial(self._store.mark, session_id, notice, claim.attempt)

        def start_sending() -> None:
            if not mark("sending", in_ms=self._lease_ms):
                raise _ClaimLostError
            self._fault_hook("notice-sending")

        try:
            text = self._notice(parked, notice)
            send_notice(text, notice.channel, person, self._settings, on_connected=start_sending)
            self._fault_hook("notice-accepted")
            mark("sent")
        except _ClaimLostError:
            take_back()
            return now_ms + self._lease_ms
        except (NoticeFailed, InvalidInput) as error:
            if not (isinstance(error, NoticeFailed) and error.may_have_arrived):
                take_back()
            is_last = isinstance(error, NoticeFailed) and not error.is_retryable
            wanted_ms = int(1_000 * error.retry_after_s) if isinstance(error, NoticeFailed) else 0
            delay_ms = max(_FIRST_DELAY_MS * 2 ** (claim.attempt - 1), wanted_ms)
            delay_ms = min(delay_ms, _MAX_DELAY_MS)
            mark("failed" if is_last else "retry", in_ms=0 if is_last else delay_ms, error=str(error)[:500])
            then = "giving up" if is_last else f"retrying in {delay_ms // 1000} s"
            log.warning(
                "notice to %s about session %s failed, %s: %s", notice.person, session_id, then, error
            )
            return None if is_last else now_ms + delay_ms
        return None

    def _notice(self, parked: ParkedTurn, notice: NoticeId) -> Notice:
        """Return the text of a notice. Raises InvalidInput: links are configured, but there is no secret."""
        session_id, settings = parked.facts.session_id, self._settings
        link = ""
        if settings.public_url is not None:
            until_ms = parked.parking.until_ms or parked.state.now_ms + LONGEST_S * 1000
            answer = AnswerLink(
                session_id=session_id,
                turn=parked.number,
                question=notice.question,
                person=notice.person,
                expires_s=min(until_ms, parked.state.now_ms + LONGEST_S * 1000) // 1000,
            )
            link = f"{settings.public_url.rstrip('/')}/answers/{answer.sign(link_secret(settings))}"
        message_id = derived_id(f"notice {session_id} {notice.field}")
        return Notice(message_id, notice.stage, notice.person, parked.pending(), link)


_ATTRIBUTE = "symposia_notifier"


def install_notifier(app: Celery, notifier: Notifier) -> None:
    """Set the sender of the notices of an app, instead of the usual one."""
    setattr(app, _ATTRIBUTE, notifier)


def notifier_of(app: Celery, settings: Settings) -> Notifier:
    """Return the sender of the notices of a worker."""
    from ...tasks.runtime.runtime import runtime_of

    notifier: Notifier | None = getattr(app, _ATTRIBUTE, None)
    if notifier is None:
        client = runtime_of(app).store.client
        notifier = Notifier(client, settings, lambda: runtime_of(app).agents.registry.people)
        install_notifier(app, notifier)
    return notifier
