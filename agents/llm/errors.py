"""Errors of model requests: text without secrets, and whether the turn may be retried."""

from __future__ import annotations

import json
from collections.abc import Mapping

from pydantic_ai.exceptions import AgentRunError, ModelAPIError, ModelHTTPError

from ...models.errors import AgentError, AgentFailed
from ..execution.failures import scrub_text, to_agent_error
from .retries import is_transient


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
