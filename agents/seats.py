"""From an entry of the registry and a binding to an agent: one way for each kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypeVar, assert_never

from pydantic import ValidationError

from ..models.errors import AgentError, AgentFailed, invalid_input
from ..models.options import AgentBinding
from .entries import AgentEntry, LLMEntry, ModelEntry, PythonEntry, ScriptedEntry
from .local_model import CONTEXT_TOKENS, MODEL_NAME
from .protocol import Speaker
from .python import PythonAgent, load_callable
from .scripted import scripted_agent
from .threads import DaemonThreads

if TYPE_CHECKING:
    from .model_pool import Endpoint

T = TypeVar("T")

#: Name of the model that runs on this machine; a [models.local] table takes its place.
LOCAL_MODEL = "local"

#: Sync callables that run at the same time in one process.
CALLABLE_THREADS = 32

# It reads some 150 tokens a second on one core: a long prompt would cost more than the answer.
_LOCAL = ModelEntry(
    model=MODEL_NAME,
    base_url="http://127.0.0.1/v1",
    context_tokens=CONTEXT_TOKENS // 8,
    plain=True,
    http_retries=1,
)

_NOT_RUNNING = "the local model is not running: start it with `symposia up`"


class Seats:
    """Makes agents. Imports what a kind needs only when an agent of that kind is made."""

    def __init__(
        self,
        models: Mapping[str, ModelEntry],
        *,
        getenv: Callable[[str], str | None],
        local_model: Callable[[], str | None],
    ) -> None:
        self._models = models
        self._getenv = getenv
        self._local_model = local_model
        self._threads = DaemonThreads(limit=CALLABLE_THREADS)

    def seat(self, binding: AgentBinding, entry: AgentEntry) -> Speaker:
        """The agent of an entry, with the binding's overrides. Raises InvalidInput, AgentError."""
        match entry:
            case LLMEntry():
                return self._llm(binding, entry)
            case PythonEntry():
                return PythonAgent(load_callable(entry.callable), threads=self._threads)
            case ScriptedEntry():
                script = replies_of(binding, entry)
                return scripted_agent(script.replies, at_end=script.at_end)
            case _:
                assert_never(entry)

    def problem(self, entry: AgentEntry) -> str | None:
        """Why an agent of this entry would fail; None: nothing is known against it."""
        try:
            if isinstance(entry, PythonEntry):
                load_callable(entry.callable)
            elif isinstance(entry, LLMEntry):
                return self._model_problem(entry)
        except AgentError as error:
            return str(error)
        return None

    def _llm(self, binding: AgentBinding, entry: LLMEntry) -> Speaker:
        from .llm import LLMAgent, Manner

        model = self._model(entry)
        manner = Manner(
            instructions=_either(binding.instructions, entry.instructions),
            temperature=_either(binding.temperature, entry.temperature),
            max_tokens=_either(binding.max_tokens, entry.max_tokens),
            context_tokens=_either(entry.context_tokens, model.context_tokens),
            structured=_either(entry.structured, model.structured),
            plain=model.plain,
            request_timeout_s=model.request_timeout_s,
            http_retries=model.http_retries,
            input_usd_per_million=model.input_usd_per_million,
            output_usd_per_million=model.output_usd_per_million,
        )
        return LLMAgent(lambda: self._endpoint(entry), manner)

    def _model(self, entry: LLMEntry) -> ModelEntry:
        known = self._models.get(entry.model)
        if known is not None:
            return known
        return _LOCAL if entry.model == LOCAL_MODEL else ModelEntry(model=entry.model)

    def _endpoint(self, entry: LLMEntry) -> Endpoint:
        from .model_pool import Endpoint

        model = self._model(entry)
        if model is _LOCAL:
            url = self._local_model()
            if url is None:
                raise AgentFailed(_NOT_RUNNING)
            return Endpoint(model.model, f"{url}/v1")
        key = self._getenv(model.api_key_env) if model.api_key_env else None
        if model.api_key_env and not key:
            raise AgentFailed(f"environment variable {model.api_key_env} is not set", retryable=False)
        return Endpoint(model.model, model.base_url, key)

    def _model_problem(self, entry: LLMEntry) -> str | None:
        from .model_pool import provider_problem

        model = self._model(entry)
        if model is not _LOCAL:  # which need not run before a session does
            self._endpoint(entry)
        return provider_problem(model.model) if model.base_url is None else None


def replies_of(binding: AgentBinding, entry: ScriptedEntry) -> ScriptedEntry:
    """The script of a seat: the binding's parameters `replies` and `at_end`, which are data, win.

    Raises:
        InvalidInput: they are no script.
    """
    own = {name: binding.parameters[name] for name in ("replies", "at_end") if name in binding.parameters}
    if not own:
        return entry
    try:
        return ScriptedEntry.model_validate({**entry.model_dump(by_alias=True), **own})
    except ValidationError as error:
        raise invalid_input(error, "parameters") from None


def _either(first: T | None, second: T) -> T:
    return second if first is None else first
