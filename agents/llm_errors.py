"""What a failed model request means: whether to try again, and what may be told of it."""

from __future__ import annotations

import json
from collections.abc import Mapping

from pydantic_ai.exceptions import (
    ContentFilterError,
    ModelAPIError,
    ModelHTTPError,
    ModelQuotaExceededError,
    ModelRequestRejectedError,
    UserError,
)

from ..models.errors import AgentError, AgentFailed
from .failures import failure, scrubbed

#: The request itself is refused: the same request again meets the same answer.
_FINAL = (ModelRequestRejectedError, ModelQuotaExceededError, ContentFilterError, UserError, ImportError)


def model_failure(error: Exception, *, secrets: tuple[str, ...] = ()) -> AgentError:
    """The error of the agent tree for what a model request raised.

    Rate limits, overload, server errors, lost connections, timeouts and answers that make no
    sense may be retried; a refused request, key, model or quota may not.
    """
    retryable = not isinstance(error, _FINAL)
    if not isinstance(error, ModelAPIError):
        return failure(error, retryable=retryable, secrets=secrets)
    status = f"HTTP {error.status_code} from" if isinstance(error, ModelHTTPError) else "request to"
    said = _said(error.body) or ("" if isinstance(error, ModelHTTPError) else error.message)
    told = f"{type(error).__name__}: {status} model {error.model_name!r}{': ' if said else ''}{said}"
    return AgentFailed(scrubbed(told, secrets=secrets), retryable=retryable)


def _said(body: object) -> str:
    """The provider's own words out of an error body, wherever it keeps them."""
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
