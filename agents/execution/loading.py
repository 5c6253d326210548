"""Import of code that an agents file names: `module:name`, with dots allowed on both sides."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from pydantic import BaseModel

from ...models.errors import AgentError
from .failures import to_agent_error


def load_callable(path: str) -> Callable[..., Any]:
    """Import a callable.

    Raises:
        AgentError: Not retryable; the message says what could not be imported and why.
    """
    loaded = load_object(path)
    if not callable(loaded):
        raise _not_loaded(path, TypeError(f"{path.partition(':')[2]} is not callable"))
    return loaded


def load_object(path: str) -> object:
    """Import an object. Raises AgentError, as `load_callable`."""
    module, _, name = path.partition(":")
    try:
        loaded: object = import_module(module)
        for part in name.split("."):
            loaded = getattr(loaded, part)
    except Exception as error:
        raise _not_loaded(path, error) from error
    return loaded


def load_form(path: str) -> type[BaseModel]:
    """Import the pydantic model at `module:Class`. Raises AgentError, as `load_callable`."""
    form = load_callable(path)
    if not (isinstance(form, type) and issubclass(form, BaseModel)):
        raise _not_loaded(path, TypeError("is not a pydantic model"))
    return form


def _not_loaded(path: str, error: Exception) -> AgentError:
    import_error = ImportError(f"{path}: {type(error).__name__}: {error}")
    return to_agent_error(import_error, retryable=False, cause=error)
