"""Model clients and the HTTP pool that they share: one pool per event loop, one loop per process.

Connections belong to the loop that opened them, so the pool is looked up by the running loop. A forked
child has another loop, and so another pool.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NoReturn
from weakref import WeakKeyDictionary

import httpx2
from pydantic_ai.exceptions import UserError
from pydantic_ai.models import Model, infer_model, parse_model_id
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.profiles import ModelProfile
from pydantic_ai.providers import infer_provider, infer_provider_class
from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider

from ...models.errors import AgentFailed
from ..execution.threads import before_close
from ..tables import PROVIDERS_WITH_URL
from .string_content import StringContentModel

if TYPE_CHECKING:
    from pydantic_ai.providers import Provider

#: Timeout of connecting in seconds; the turn sets the timeout of a request.
CONNECT_TIMEOUT_S = 5.0
#: Name of an environment variable in the errors of pydantic-ai.
_VARIABLE = re.compile(r"`([A-Z][A-Z0-9_]+)`")
_SENTENCE_END = re.compile(r"[.\n](?:\s|$)")


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Name, URL and API key of a model."""

    model: str
    base_url: str | None = None
    api_key: str | None = field(default=None, repr=False)


class RefusingModel(WrapperModel):
    """A model in a replay: it describes itself like the real one, and sends no request."""

    async def request(self, *_: object, **__: object) -> NoReturn:
        """Refuse the request."""
        raise UserError("a replay sends no model request")

    def request_stream(self, *_: object, **__: object) -> NoReturn:
        """Refuse the request."""
        raise UserError("a replay sends no model request")


class ModelPool:
    """Model clients of one event loop."""

    def __init__(self) -> None:
        self._models: dict[Endpoint, Model] = {}
        self._open = AsyncExitStack()
        self._http = httpx2.AsyncClient(
            timeout=httpx2.Timeout(None, connect=CONNECT_TIMEOUT_S),
            limits=httpx2.Limits(max_connections=1_000, max_keepalive_connections=100),
            follow_redirects=True,
            # Servers on this machine are called without the proxy of the environment.
            mounts={f"all://{host}": None for host in ("localhost", "127.0.0.1", "[::1]")},
        )

    async def model(self, endpoint: Endpoint | Model) -> Model:
        """Return the client of an endpoint, created at its first use; a `Model` is returned as it is.

        Raises:
            AgentFailed: The package of the provider is not installed, or its variable, such as that of its key, is
                not set.
            UserError: The provider is unknown.
        """
        if isinstance(endpoint, Model):
            return endpoint
        model = self._models.get(endpoint)
        if model is None:
            model = self._models[endpoint] = self._create_model(endpoint)
            await self._open.enter_async_context(model)
        return model

    async def available_models(self, endpoints: Sequence[Endpoint | Model]) -> list[Model | None]:
        """Return the clients of a model and its fallbacks; None for one that lacks a package or variable.

        Raises:
            AgentFailed: All of them lack something; the error of the first one.
            UserError: As in `model`.
        """
        clients: list[Model | None] = []
        problems: list[AgentFailed] = []
        for endpoint in endpoints:
            try:
                clients.append(await self.model(endpoint))
            except AgentFailed as problem:
                clients.append(None)
                problems.append(problem)
        if len(problems) == len(endpoints):
            raise problems[0]
        return clients

    async def close(self) -> None:
        """Close all connections."""
        self._models.clear()
        await self._open.aclose()
        await self._http.aclose()

    def _create_model(self, endpoint: Endpoint) -> Model:
        provider, _ = split_endpoint(endpoint)
        if endpoint.base_url is None or provider is not None:
            try:
                return infer_model(endpoint.model, lambda name: self._provider(name, endpoint))
            except (UserError, ImportError) as error:
                raise AgentFailed(_explain(error), retryable=False) from error
            except ValueError as error:
                raise UserError(str(error)) from error
        compatible = OpenAICompatibleProvider(
            "openai-compatible",
            base_url=endpoint.base_url,
            api_key=endpoint.api_key,
            http_client=self._http,
        )
        return StringContentModel(endpoint.model, provider=compatible, profile=_UNREAD_TAGS)

    def _provider(self, name: str, endpoint: Endpoint) -> Provider[object]:
        if endpoint.base_url is None and endpoint.api_key is None:
            return infer_provider(name)
        make: Callable[..., Provider[object]] = infer_provider_class(name)
        if endpoint.base_url is None:
            return make(api_key=endpoint.api_key)
        # The key in a variable of the provider's own client must not reach another server.
        key = endpoint.api_key or _NO_KEY
        return make(base_url=endpoint.base_url, api_key=key, http_client=self._http)


#: The invisible character keeps pydantic-ai from reading the tags: it takes a thought that is not closed for text.
_UNREAD_TAGS = ModelProfile(thinking_tags=("<think>\u2060", "</think>"))


def split_endpoint(endpoint: Endpoint) -> tuple[str | None, str]:
    """Return the provider whose API the endpoint has, None for OpenAI's chat API at a URL, and the model's name.

    A name with a colon at a URL may be that of a model alone: those of Ollama have tags.

    Raises:
        AgentFailed: The API of the provider cannot be at a URL; not retryable.
    """
    provider, name = parse_model_id(endpoint.model)
    if endpoint.base_url is None or provider is None:
        return provider, name
    if provider in PROVIDERS_WITH_URL and not _TAG.fullmatch(name):
        return provider, name
    if _TAG.fullmatch(name) or not _is_provider(provider):
        return None, endpoint.model
    raise AgentFailed(
        f"base_url: the API of {provider} has no other URL here (possible: {', '.join(PROVIDERS_WITH_URL)});"
        f" for a server with OpenAI's chat API write openai-chat:{endpoint.model}",
        retryable=False,
    )


#: Key for a server that needs none.
_NO_KEY = "no-key"
#: Tags of models of Ollama, such as `mistral:7b`, whose name may be that of a provider.
_TAG = re.compile(r"latest|\d+(\.\d+)?[bm](-.*)?", re.IGNORECASE)


def _is_provider(name: str) -> bool:
    try:
        infer_provider_class(name)
    except ValueError:
        return False
    except (UserError, ImportError):  # its package is not installed
        return True
    return True


_pools: WeakKeyDictionary[asyncio.AbstractEventLoop, ModelPool] = WeakKeyDictionary()


def pool_of_running_loop() -> ModelPool:
    """Return the pool of the running event loop; it is closed with the loop."""
    loop = asyncio.get_running_loop()
    pool = _pools.get(loop)
    if pool is None:
        pool = _pools[loop] = ModelPool()
        before_close(pool.close)
    return pool


def provider_problem(model: str, base_url: str | None, *, names_key: bool) -> str | None:
    """Return the problem of a `provider:model` that can be found without a request; None: no problem.

    Args:
        model: The provider and its model.
        base_url: URL of the endpoint; None: that of the provider.
        names_key: Whether the agents file names the variable of the key. If not, the provider reads its usual one.
    """
    try:
        provider, _ = split_endpoint(Endpoint(model, base_url))
        if base_url is not None and provider is None:
            return None
        infer_provider_class(provider or model)
        if not names_key and base_url is None:
            infer_provider(provider or model)
    except (UserError, ImportError) as error:
        return _explain(error)
    except (AgentFailed, ValueError) as error:
        return str(error)
    return None


def _explain(error: UserError | ImportError) -> str:
    """Return the error of a provider in one line: the variables that it names, or else its first sentence."""
    names = dict.fromkeys(_VARIABLE.findall(str(error)))
    if names and "environment variable" in str(error):
        return f"environment variable {' or '.join(names)} is not set"
    return _SENTENCE_END.split(str(error), maxsplit=1)[0]
