"""Hashable forms of bindings, for caches of what follows from a binding."""

from __future__ import annotations

import json

from ...models.sessions.options import AgentBinding
from ...models.turns.waiting import WaitPolicy

#: Hashable form of a binding, as cache key: bindings contain mappings, which have no hash.
BindingKey = tuple[str, str | None, float | None, int | None, str, WaitPolicy | None, str]


def key_of(binding: AgentBinding) -> BindingKey:
    """Return the hashable form of a binding."""
    parameters = json.dumps(binding.parameters, sort_keys=True) if binding.parameters else ""
    return (
        *(binding.agent, binding.instructions, binding.temperature, binding.max_tokens),
        *(parameters, binding.wait, json.dumps(binding.session) if binding.session else ""),
    )


def binding_of(key: BindingKey) -> AgentBinding:
    """Return the binding of its hashable form."""
    agent, instructions, temperature, max_tokens, parameters, wait, session = key
    return AgentBinding(
        agent=agent,
        instructions=instructions,
        temperature=temperature,
        max_tokens=max_tokens,
        parameters=json.loads(parameters or "{}"),
        wait=wait,
        session=json.loads(session) if session else None,
    )
