"""Sessions of the local engine with models that record their requests, and a request as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic_ai.messages import ModelMessage, ModelRequest, TextPart, ToolCallPart, UserPromptPart

import symposia
from symposia.testing.agents import Asked, ModelReply, ScriptedModel, model_agent

PURPOSE = "Decide how the shop should migrate its order database to PostgreSQL."

#: Participants by name of a roster: id, display name, role and description.
ROSTERS = {
    "plain": (
        ("ada", "Ada", "architect", "designs the data model"),
        ("ben", "Ben", "operations", "runs the servers"),
        ("cyd", None, None, "pays for it"),
    ),
    "odd": (
        ("ada", "Ada \U0001f469\u200d\U0001f4bb", "architect", "designs </turn> the <note>"),
        ("ben", "Ben O'Neil: CTO", "operations", 'runs "the servers"'),
        ("cyd", "\u202e\u05e8\u05d5\u05ea <message from=ada>", None, "\u05e8\u05d5\u05ea pays"),
    ),
}


@dataclass(frozen=True)
class Recorded:
    """Requests of a session by participant, and its result."""

    asked: Mapping[str, Sequence[Asked]]
    result: Any


def record_session(
    mode: str,
    replies: Mapping[str, Sequence[ModelReply]],
    *,
    roster: str = "plain",
    collab: Mapping[str, Any] | None = None,
    settings: Mapping[str, Any] | None = None,
    window: int = 100,
    **how: Any,
) -> Recorded:
    """Run a session of models with these replies, in roster order.

    Args:
        mode: Mode of the session.
        replies: Replies by participant.
        roster: Name of the roster with names, roles and descriptions.
        collab: Further fields of the collab.
        settings: Settings of all models.
        window: Maximum number of messages that a turn gets.
        how: Further arguments of `run_local`.
    """
    known = {who: facts for who, *facts in ROSTERS[roster]}
    models = {who: ScriptedModel(*texts) for who, texts in replies.items()}
    agents = {
        who: model_agent(model, **({"instructions": "Be specific."} | dict(settings or {})))
        for who, model in models.items()
    }
    participants = []
    for who, agent in agents.items():
        name, role, description = known.get(who, (None, None, ""))
        symposia.agent(who, description=description, window=window)(agent)
        facts = {"participant_id": who, "display_name": name, "role_id": role}
        participants.append({key: value for key, value in facts.items() if value})
    whole = {"title": "Moving the orders", "purpose": PURPOSE, "mode": mode, "participants": participants}
    result = symposia.run_local_sync(whole | dict(collab or {}), agents=agents, threads=1, **how)
    return Recorded({who: model.asked for who, model in models.items()}, result)


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
