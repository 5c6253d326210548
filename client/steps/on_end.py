"""What `on_end` of a session causes when it has ended: a Celery signature is sent, or a URL is called."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable
from ipaddress import ip_network
from threading import BoundedSemaphore, Thread
from typing import TYPE_CHECKING, Any

from ...agents.remote.http_call import HttpTarget
from ...agents.remote.webhook import post_webhook, signed_headers
from ...config.settings import Settings, read_variable
from ...jobs.collab import CollabJob
from ...jobs.result import JobResult
from ...models.errors import AgentError, AgentFailed, InvalidInput, SymposiaError
from ...models.sessions.on_end import OnEnd, check_url
from ...models.text.ids import derived_id
from ...state.steps import StepStore
from .once import marked

if TYPE_CHECKING:
    from celery import Celery

log = logging.getLogger(__name__)

#: Maximum seconds of a call.
_TIMEOUT_S = 10
#: Maximum number of parallel calls of a process, and of calls for one session: the last is about 12 hours after its end.
_MAX_CALLS, _MAX_ATTEMPTS = 8, 20
#: Maximum milliseconds between two calls for one session.
_MAX_DELAY_MS = 3_600_000


def end_message_id(session_id: str) -> str:
    """Return the id of the Celery task, or of the call, of `on_end`."""
    return derived_id(f"on_end {session_id}")


def result_data(result: JobResult) -> dict[str, Any]:
    """Return the result of a session as JSON data: that of its Celery task."""
    return {
        "collab_id": result.collab.collab_id,
        "status": result.collab.status.value,
        "reason": result.reason,
        "detail": result.detail,
        "text": result.text,
        "output": result.output_data,
        "turns": result.turns,
        "rounds": result.rounds,
        "usage": result.usage.to_json_data(),
    }


class OnEndSender:
    """Sender of what `on_end` names. A session stays in the index of steps until nothing is left to send."""

    def __init__(
        self, app: Celery, settings: Settings, store: StepStore, fault_hook: Callable[[str], object]
    ) -> None:
        self._app = app
        self._settings = settings
        self._store = store
        self._fault_hook = fault_hook
        self._places = BoundedSemaphore(_MAX_CALLS)

    def send(self, job: CollabJob, on_end: OnEnd) -> None:
        """Send the signature, or start the call of the URL. Raises what Celery raises."""
        if on_end.signature is not None:
            self._send_signature(job, on_end.signature)
        elif on_end.url is not None and self._places.acquire(blocking=False):
            is_claimed = False
            try:
                is_claimed = self._claim_call(job.id)
            finally:
                if not is_claimed:
                    self._places.release()
            if is_claimed:
                Thread(target=self._call, args=(job, on_end.url), name="symposia-on-end", daemon=True).start()

    def _claim_call(self, session_id: str) -> bool:
        """Claim the call for as long as it takes; two sweeps may find the end of a session at the same time."""
        lease_ms = self._first_delay_ms + _TIMEOUT_S * 1000
        if not self._store.claim_call(session_id, lease_ms=lease_ms, ttl_ms=self._ttl_ms):
            return False
        self._store.index.set_due(session_id, lease_ms)
        return True

    def end(self, session_id: str) -> None:
        """Record that nothing is left to send."""
        self._store.finish(session_id, ttl_ms=self._ttl_ms)

    @property
    def _ttl_ms(self) -> int:
        return self._settings.retention_s * 1000

    @property
    def _first_delay_ms(self) -> int:
        return int(self._settings.redispatch_after_s * 1000)

    def _send_signature(self, job: CollabJob, given: Any) -> None:
        from celery import signature

        with marked():
            sent = signature(dict(given), app=self._app)
            sent.apply_async((result_data(job.result()),), task_id=end_message_id(job.id))
        self._fault_hook("after-message")
        self.end(job.id)

    def _call(self, job: CollabJob, url: str) -> None:
        """Call a URL once; another attempt is the work of the sweep."""
        try:
            self._post(job, url)
            self._fault_hook("after-message")
            self.end(job.id)
        except AgentError as error:
            self._failed(job.id, error)
        except InvalidInput as error:
            log.error("on_end of session %s is not called: %s", job.id, error)
            self.end(job.id)
        except SymposiaError as error:
            log.warning("on_end of session %s not called, will retry: %s", job.id, error)
        finally:
            self._places.release()

    def _post(self, job: CollabJob, url: str) -> None:
        check_url(url, self._settings.on_end_urls)  # those of this worker
        secret = read_variable(self._settings.on_end_secret_env)
        if not secret:
            raise AgentFailed(f"environment variable {self._settings.on_end_secret_env} is not set")
        body = json.dumps(result_data(job.result()), ensure_ascii=False).encode()
        headers = signed_headers(secret, end_message_id(job.id), body, now_s=int(time.time()))
        networks = tuple(map(ip_network, self._settings.on_end_networks))
        post_webhook(HttpTarget(url, _TIMEOUT_S, networks), body, headers)

    def _failed(self, session_id: str, error: AgentError) -> None:
        try:
            failed = self._store.count_attempt(session_id, ttl_ms=self._ttl_ms)
            if not error.retryable or failed >= _MAX_ATTEMPTS:
                log.error("on_end of session %s failed, giving up: %s", session_id, error)
                self.end(session_id)
                return
            delay_ms = self._first_delay_ms * 2 ** min(failed - 1, 20)
            delay_ms = min(max(delay_ms, int((error.retry_after_s or 0) * 1000)), _MAX_DELAY_MS)
            log.warning(
                "on_end of session %s failed, retrying in %d s: %s", session_id, delay_ms // 1000, error
            )
            self._store.index.set_due(session_id, delay_ms)
        except SymposiaError as lost:
            log.warning("on_end of session %s not called, will retry: %s", session_id, lost)
