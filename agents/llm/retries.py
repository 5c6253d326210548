"""When a failed model request is worth another try, and how long to wait before it. Pure.

Rate limits, overload, server errors, timeouts and lost connections pass; what the provider
refused (the request, the key, the model, an exhausted quota) does not, however often it is asked.
pydantic-ai sends the request again when a hook raises `RetryModelRequest`, so tenacity has no loop to run here.
"""

from __future__ import annotations

import random

from pydantic_ai.exceptions import (
    ContentFilterError,
    ModelAPIError,
    ModelHTTPError,
    ModelQuotaExceededError,
    ModelRequestRejectedError,
    UsageLimitExceeded,
    UserError,
)

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
