"""Points of a request up to which providers cache it, and the settings that they need. Pure.

A provider caches what is equal from the first byte on: tools, system prompt, messages. Anthropic, Bedrock and
OpenRouter cache only up to marked blocks, at most four in a request:

1. the end of the system prompt, which covers the tools;
2. the block that the previous request of the participant marked as 3, so that it is read however many blocks follow;
3. the end of the dialog, before the request of the turn, which no later request repeats;
4. the end of the task in the first request of a turn; the newest tool result in the requests that follow.

OpenAI's newest models get the same points; its other models, Gemini and local servers cache by prefix. pydantic-ai
leaves out the points and settings that a model does not take.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import Any, Literal

from pydantic_ai.messages import CachePoint, UserContent
from pydantic_ai.models import Model

from ...models.protocol.collab import ParticipantKind
from ...models.turns.turn import TurnContext

#: How long a provider keeps an entry of its cache after the last read.
CacheLife = Literal["5m", "1h"]

#: Providers whose settings mark the points; each ignores the settings of the others.
_MARKING_PROVIDERS = ("anthropic", "bedrock", "openrouter")
#: Names of all settings of this module. Records of requests leave them out: they say nothing about the text.
CACHE_SETTINGS = frozenset(
    {"cache", "openai_prompt_cache_key"}
    | {f"{provider}_cache_{part}" for provider in _MARKING_PROVIDERS for part in ("instructions", "messages")}
)
#: The provider that finds entries faster with a key, and refuses no request with it.
_KEY_PROVIDER = "openai"


def cache_life(turn: TurnContext) -> CacheLife:
    """Return how long entries of this participant must live: people take longer than five minutes to answer."""
    has_people = any(participant.kind is ParticipantKind.HUMAN for participant in turn.roster)
    return "1h" if has_people or turn.answers else "5m"


def mark_blocks(groups: Sequence[list[UserContent]], *, task_blocks: int, life: CacheLife) -> None:
    """Add the points 2, 3 and 4 to the messages of the user.

    Args:
        groups: The blocks of each message of the user, without the request of the turn. Only the last may be empty:
            then nothing was said since the participant's own last answer.
        task_blocks: Number of blocks of the task, with which the first message begins.
        life: How long the entries live.
    """
    groups[0].insert(task_blocks, CachePoint(ttl=life))
    for group in groups[-2:]:
        if group and not isinstance(group[-1], CachePoint):
            group.append(CachePoint(ttl=life))


def cache_settings(life: CacheLife, *, is_first: bool = True) -> dict[str, Any]:
    """Return the model settings for point 1, and, after the first request of a turn, for the newest tool result.

    Args:
        life: How long the entries live.
        is_first: Whether this is the first request of a turn.
    """
    settings: dict[str, Any] = {"cache": {"retention": life, "messages": not is_first}}
    for provider in _MARKING_PROVIDERS:
        # On Bedrock, an explicit life of five minutes is refused by models without a choice.
        settings[f"{provider}_cache_instructions"] = True if life == "5m" else life
        if not is_first:
            # Of too many points, pydantic-ai drops the oldest one of the messages: the end of the task.
            settings[f"{provider}_cache_messages"] = True if life == "5m" else life
    return settings


def cache_key_settings(models: Iterable[Model], system_prompt: str) -> dict[str, Any]:
    """Return the key of the cache if all models take one: it is the same in all sessions of the same participants."""
    if any(model.system != _KEY_PROVIDER for model in models):
        return {}
    return {"openai_prompt_cache_key": sha256(system_prompt.encode()).hexdigest()[:32]}
