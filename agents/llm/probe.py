"""Probe of model endpoints: each is asked for one token."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pydantic_ai.direct import model_request
from pydantic_ai.messages import ModelRequest
from pydantic_ai.models import Model
from pydantic_ai.models.openai import OpenAIResponsesModel
from pydantic_ai.settings import ModelSettings

from ...models.errors import AgentError
from .clients import ModelPool
from .errors import model_failure
from .settings import ModelSource

#: Timeout of a probe in seconds.
PROBE_TIMEOUT_S = 20.0
#: Least limit of an answer that the Responses API accepts, in tokens.
_LEAST_RESPONSE = 16


@dataclass(frozen=True, slots=True)
class ProbeResult:
    """The answer of an endpoint."""

    #: Name of the model in the agents file.
    name: str
    took_ms: int = 0
    #: Provider, status and reason in one line, without secrets; None: the endpoint has answered.
    problem: str | None = None


def probe_models(
    sources: Mapping[str, ModelSource], *, timeout_s: float = PROBE_TIMEOUT_S
) -> list[ProbeResult]:
    """Ask all endpoints at once, and return their answers in the given order.

    Args:
        sources: Endpoints by name of their models.
        timeout_s: Maximum seconds of a request.
    """
    return asyncio.run(_probe_all(sources, timeout_s))


async def _probe_all(sources: Mapping[str, ModelSource], timeout_s: float) -> list[ProbeResult]:
    pool = ModelPool()
    try:
        probes = (_probe(pool, name, source, timeout_s) for name, source in sources.items())
        return await asyncio.gather(*probes)
    finally:
        await pool.close()


async def _probe(pool: ModelPool, name: str, source: ModelSource, timeout_s: float) -> ProbeResult:
    secrets: Sequence[str] = [source.secret] if source.secret else []
    began = time.monotonic()
    try:
        model = await pool.model(source.model)
        async with asyncio.timeout(timeout_s):
            await model_request(
                model, [ModelRequest.user_text_prompt("Hi")], model_settings=_settings(model, timeout_s)
            )
    except TimeoutError:
        return ProbeResult(name, problem=f"no answer within {timeout_s:g} s")
    except AgentError as error:
        return ProbeResult(name, problem=str(error))
    except Exception as error:  # noqa: BLE001 - each provider raises its own
        return ProbeResult(name, problem=str(model_failure(error, secrets=tuple(secrets))))
    return ProbeResult(name, round((time.monotonic() - began) * 1000))


def _settings(model: Model, timeout_s: float) -> ModelSettings:
    tokens = _LEAST_RESPONSE if isinstance(model, OpenAIResponsesModel) else 1
    return ModelSettings(max_tokens=tokens, timeout=timeout_s, max_retries=0)
