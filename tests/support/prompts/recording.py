"""Sessions of the local engine with models that record their requests, and a request as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic_ai.messages import ModelMessage, ModelRequest, TextPart, ToolCallPart, UserPromptPart

from symposia import run_local_sync
from symposia.testing.agents import Asked, ModelReply, ScriptedModel, model_agent


@dataclass(frozen=True)
class Recorded:
    """Requests of a session by participant, and its result."""

    asked: Mapping[str, Sequence[Asked]]
    result: Any


def record_session(
    mode: str,
    replies: Mapping[str, Sequence[ModelReply]],
    *,
    collab: Mapping[str, Any] | None = None,
    settings: Mapping[str, Any] | None = None,
    **how: Any,
) -> Recorded:
    """Run a session of models with these replies, in roster order.

    Args:
        mode: Mode of the session.
        replies: Replies by participant.
        collab: Further fields of the collab.
        settings: Settings of all models.
        how: Further arguments of `run_local`.
    """
    models = {who: ScriptedModel(*texts) for who, texts in replies.items()}
    agents = {who: model_agent(model, **(settings or {})) for who, model in models.items()}
    whole = {"title": "Moving the orders", "purpose": PURPOSE, "mode": mode} | dict(collab or {})
    result = run_local_sync(whole, agents=agents, **how)
    return Recorded({who: model.asked for who, model in models.items()}, result)


PURPOSE = "Decide how the shop should migrate its order database to PostgreSQL."


def render(asked: Asked) -> str:
    """Return a request as text: the system prompt, then the messages with their roles."""
    blocks = [f"=== system\n{asked.system}", *map(_render_message, asked.messages)]
    return "\n\n".join(blocks) + "\n"


def _render_message(message: ModelMessage) -> str:
    texts = []
    for part in message.parts:
        match part:
            case UserPromptPart(content=str(text)):
                texts.append(text)
            case UserPromptPart(content=content):
                texts += [item for item in content if isinstance(item, str)]
            case TextPart(content=text):
                texts.append(text)
            case ToolCallPart():
                texts.append(f"{part.tool_name}({part.args_as_json_str()})")
            case _:
                texts.append(str(part))
    role = "user" if isinstance(message, ModelRequest) else "assistant"
    return f"=== {role}\n" + "\n\n".join(texts)
