"""Errors of model requests: their text without secrets, and whether and when the request may be retried.

Rate limits, overload, server errors, timeouts and lost connections are transient. Refusals of the
provider (of the request, the key, the model, or for an exhausted quota) are permanent.
pydantic-ai sends the request again when a hook raises `RetryModelRequest`; so tenacity is not used here.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Mapping

from pydantic_ai.exceptions import (
    AgentRunError,
    ContentFilterError,
    ModelAPIError,
    ModelHTTPError,
    ModelQuotaExceededError,
    ModelRequestRejectedError,
    UnexpectedModelBehavior,
    UsageLimitExceeded,
    UserError,
)

from ...models.errors import AgentError, AgentFailed
from ...models.text.redact import excerpt
from ..execution.failures import scrub_text, to_agent_error

#: Seconds of the first pause; each further pause is twice as long, up to `MAX_PAUSE_S`.
FIRST_PAUSE_S = 0.5
MAX_PAUSE_S = 8.0
#: Maximum seconds that a worker waits for a provider; after a longer `Retry-After` the turn is retried later.
MAX_RETRY_AFTER_S = 20.0

#: Maximum characters of a provider's message.
MAX_MESSAGE = 1_000
#: Messages of providers and local servers about a model that takes no tools.
_NO_TOOLS = re.compile(
    r"(?:does|do) not support (?:tools?|functions?)\b|\b(?:tools?|functions?)(?: use| call(?:s|ing)?)? (?:is|are) not supported"
    r"|not support (?:tool|function)|enable-auto-tool-choice|tool choice requires",
    re.IGNORECASE,
)

#: Errors of a request that would fail again.
_FINAL = (
    ModelRequestRejectedError,
    ModelQuotaExceededError,
    ContentFilterError,
    UsageLimitExceeded,
    UserError,
    ImportError,
)
#: Transient HTTP status codes: request timeout, conflict, too early, too many requests.
_TRANSIENT_STATUSES = frozenset({408, 409, 425, 429})


def is_transient(error: Exception) -> bool:
    """Return whether the same request may succeed later."""
    if isinstance(error, _FINAL):
        return False
    if isinstance(error, ModelHTTPError):
        hint = error.provider_retry_hint
        if hint is not None:
            return hint
        return error.status_code >= 500 or error.status_code in _TRANSIENT_STATUSES
    return True


def is_provider_error(error: Exception) -> bool:
    """Return whether a request failed at the provider; an answer without `choices` or `candidates` counts."""
    return isinstance(error, ModelAPIError | IndexError) or type(error) is UnexpectedModelBehavior


def retry_pause_s(error: Exception, *, tries: int, most_tries: int, left_s: float) -> float | None:
    """Return the seconds to wait before a retry of the request; None: no retry.

    Args:
        error: The error of the newest attempt.
        tries: Number of attempts at this model so far.
        most_tries: Maximum number of attempts at this model.
        left_s: Seconds until the turn's deadline.
    """
    if tries >= most_tries or not (is_provider_error(error) and is_transient(error)):
        return None
    pause = error.retry_after if isinstance(error, ModelAPIError) else None
    if pause is None:
        # Random, so that turns that failed at the same time do not retry at the same time.
        pause = min(FIRST_PAUSE_S * 2 ** (tries - 1), MAX_PAUSE_S) * random.uniform(0.75, 1.0)  # noqa: S311
    return pause if pause <= min(MAX_RETRY_AFTER_S, left_s) else None


def model_failure(error: Exception, *, secrets: tuple[str, ...] = ()) -> AgentError:
    """Convert the exception of a model request to an `AgentError` without secrets.

    Transient errors and invalid answers may be retried.

    Args:
        error: The exception.
        secrets: Texts to remove from the message.
    """
    retryable = is_transient(error)
    if isinstance(error, ContentFilterError):  # its body repeats the whole response
        return AgentFailed(
            scrub_text(f"{type(error).__name__}: {error.message}", secrets=secrets), retryable=False
        )
    if isinstance(error, IndexError):  # of the client, for an empty list of choices
        return AgentFailed("the provider sent an answer without choices", retryable=True)
    if not isinstance(error, ModelAPIError):
        failed = to_agent_error(error, retryable=retryable, secrets=secrets)
        if isinstance(error, AgentRunError):  # caused by the model's answer, not by code
            failed.origin = None
        return failed
    status = f"HTTP {error.status_code} from" if isinstance(error, ModelHTTPError) else "request to"
    message = _provider_message(error.body) or ("" if isinstance(error, ModelHTTPError) else error.message)
    message = excerpt(message, MAX_MESSAGE)
    if _NO_TOOLS.search(message):
        message += " (set structured = false in the table of the model, and give the agent no tools)"
    text = f"{type(error).__name__}: {status} model {error.model_name!r}{': ' if message else ''}{message}"
    return AgentFailed(
        scrub_text(text, secrets=secrets),
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
        message = inner.get("message") if isinstance(inner, Mapping) else inner
        return str(message or "")
    return ""
