"""Conversion between rows and tasks or conversations. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from sqlalchemy import Row

from ...models.text.ids import moment_from_ms
from ...models.workspace.conversation import (
    AgentRef,
    Conversation,
    ConversationMessage,
    ConversationSummary,
    Metadata,
)
from ...models.workspace.task import Task
from .messages import message_from_columns


def task(row: Row[Any], agents: Iterable[str]) -> Task:
    """Convert a row of `task` and its participants."""
    return Task(
        id=row.id,
        app=row.app,
        task_manager=row.task_manager,
        created_by=row.created_by,
        status=row.status,
        reason=row.reason,
        participants=_refs(agents),
        created_at=moment_from_ms(row.created_ms),
        updated_at=moment_from_ms(row.updated_ms),
        ended_at=_optional_moment(row.ended_ms),
    )


def conversation(row: Row[Any], agents: Iterable[str]) -> Conversation:
    """Convert a row of `conversation` with the `status` of its dialog, and its members."""
    return Conversation(
        id=row.id,
        task_id=row.task,
        name=row.name,
        created_by=row.created_by,
        metadata=_metadata(row.tags),
        last_message_timestamp=_optional_moment(row.last_ms),
        archived_at=_optional_moment(row.archived_ms),
        created_at=moment_from_ms(row.created_ms),
        updated_at=moment_from_ms(row.updated_ms),
        dialog_status=row.status,
        participants=_refs(agents),
    )


def summary(row: Row[Any], agents: Iterable[str], *, unread: int) -> ConversationSummary:
    """Convert a row of `conversation` for a listing."""
    return ConversationSummary(
        id=row.id,
        name=row.name,
        last_message_preview=row.preview,
        last_message_timestamp=_optional_moment(row.last_ms),
        unread_count=unread,
        archived_at=_optional_moment(row.archived_ms),
        metadata=_metadata(row.tags),
        participants=_refs(agents),
    )


def message(row: Row[Any]) -> ConversationMessage:
    """Convert a row of `message`."""
    return ConversationMessage(row.message_id, row.seq, message_from_columns(row.content, row.rest))


def tags_of(metadata: Metadata | None) -> str | None:
    """Return the tags in the format of the column."""
    return None if metadata is None else metadata.to_json()


def _optional_moment(ms: int | None) -> datetime | None:
    return None if ms is None else moment_from_ms(ms)


def _metadata(text: str | None) -> Metadata | None:
    return None if text is None else Metadata.model_validate_json(text)


def _refs(agents: Iterable[str]) -> list[AgentRef]:
    return [AgentRef(id=agent) for agent in sorted(agents)]
