"""Errors of model requests: their text without secrets, whether and when the request may be retried.

Rate limits, overload, server errors, timeouts and lost connections are transient; what the provider
refused (the request, the key, the model, an exhausted quota) is not.
pydantic-ai sends the request again when a hook raises `RetryModelRequest`, so tenacity has no loop to run here.
"""

from __future__ import annotations

import json
import random
from collections.abc import Mapping

from pydantic_ai.exceptions import (
    AgentRunError,
    ContentFilterError,
    ModelAPIError,
    ModelHTTPError,
    ModelQuotaExceededError,
    ModelRequestRejectedError,
    UsageLimitExceeded,
    UserError,
)

from ...models.errors import AgentError, AgentFailed
from ..execution.failures import scrub_text, to_agent_error

#: Seconds of the first pause; each further one is twice as long, up to the longest.
FIRST_PAUSE_S = 0.5
LONGEST_PAUSE_S = 8.0
#: A provider that asks for more patience than this gets the turn back later: no worker waits that long.
MAX_RETRY_AFTER_S = 20.0

#: The request itself is refused: the same request again meets the same answer.
_FINAL = (
    ModelRequestRejectedError,
    ModelQuotaExceededError,
    ContentFilterError,
    UsageLimitExceeded,
    UserError,
    ImportError,
)
#: Refusals of the moment: request timeout, conflict, too early, too many requests.
_TRANSIENT_STATUSES = frozenset({408, 409, 425, 429})


def is_transient(error: Exception) -> bool:
    """Whether the same request may meet a better answer later."""
    if isinstance(error, _FINAL):
        return False
    if isinstance(error, ModelHTTPError):
        hint = error.provider_retry_hint
        if hint is not None:
            return hint
        return error.status_code >= 500 or error.status_code in _TRANSIENT_STATUSES
    return True


def retry_pause_s(error: Exception, *, tries: int, most_tries: int, left_s: float) -> float | None:
    """Seconds to wait before a request is sent again; None: it is not.

    Args:
        error: what the newest try raised.
        tries: how often the request was sent to this model.
        most_tries: how often it may be sent.
        left_s: seconds until the turn's deadline.
    """
    if tries >= most_tries or not (isinstance(error, ModelAPIError) and is_transient(error)):
        return None
    pause = error.retry_after
    if pause is None:
        # Spread out, so that turns which failed together do not come back together.
        pause = min(FIRST_PAUSE_S * 2 ** (tries - 1), LONGEST_PAUSE_S) * random.uniform(0.75, 1.0)  # noqa: S311
    return pause if pause <= min(MAX_RETRY_AFTER_S, left_s) else None


def model_failure(error: Exception, *, secrets: tuple[str, ...] = ()) -> AgentError:
    """The error of the agent tree for what a model request raised; it holds none of the secrets.

    Answers that make no sense may be asked for again, like everything that may pass.
    """
    retryable = is_transient(error)
    if not isinstance(error, ModelAPIError):
        failed = to_agent_error(error, retryable=retryable, secrets=secrets)
        if isinstance(error, AgentRunError):  # the model's answer is at fault, not code
            failed.origin = None
        return failed
    status = f"HTTP {error.status_code} from" if isinstance(error, ModelHTTPError) else "request to"
    said = _provider_message(error.body) or ("" if isinstance(error, ModelHTTPError) else error.message)
    told = f"{type(error).__name__}: {status} model {error.model_name!r}{': ' if said else ''}{said}"
    return AgentFailed(
        scrub_text(told, secrets=secrets),
        retryable=retryable,
        retry_after_s=error.retry_after if retryable else None,
    )


def _provider_message(body: object) -> str:
    """Return the provider's message from an error body, independent of the body's structure."""
    if isinstance(body, str):
        try:
            body = json.loads(body)
        except ValueError:
            return str(body)
    if isinstance(body, Mapping):
        inner = body.get("error", body)
        words = inner.get("message") if isinstance(inner, Mapping) else inner
        return str(words or "")
    return ""
