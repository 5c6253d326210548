"""Sessions placed in a conversation: found again by their id, and joined only by members."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sessions.archiving import NOTHING, archiver
from sessions.inline_installation import InlineInstallation
from sessions.task_room import ANN, BEN, CHAIR, CYD, EVE, TaskRoom
from symposia.jobs.collab import CollabJob
from symposia.models.errors import (
    ConversationArchivedError,
    InvalidInput,
    NotAMember,
    ParticipantNotAdmittedError,
    SessionConflict,
)
from symposia.models.protocol.collab import Collab
from symposia.models.sessions.stop_conditions import MaxRounds

pytestmark = pytest.mark.leaves_keys

COLLAB = Collab(title="t", purpose="p", mode="round_robin", participants=[{"participant_id": ANN}])


@pytest.fixture
def installation(tmp_path: Path, redis_url: str) -> Iterator[InlineInstallation]:
    """A runtime with its own archive."""
    installation = InlineInstallation(tmp_path, redis_url, archive=True)
    yield installation
    installation.close()
    installation.client.archive.close()


@pytest.fixture
def room(installation: InlineInstallation) -> TaskRoom:
    return TaskRoom(installation.client.archive)


def submitted(installation: InlineInstallation, **how: Any) -> CollabJob:
    return installation.client.submit(COLLAB, agents={ANN: "noop"}, stop=MaxRounds(1), **how)


def test_session_is_found_without_its_conversation(installation: InlineInstallation, room: TaskRoom) -> None:
    conversation = room.conversation(ANN, BEN)
    first = submitted(installation, conversation=conversation.id)
    changes = (
        lambda: room.workspace.archive(CHAIR, conversation.id),
        lambda: room.workspace.participants_remove(CHAIR, conversation.id, [ANN]),
        lambda: room.workspace.task_close(CHAIR, conversation.task_id),
    )
    for change in changes:
        change()
        for how in ({}, {"task": conversation.task_id}, {"thread_id": conversation.task_id}):
            again = submitted(installation, conversation=conversation.id.upper(), **how)
            assert (again.id, again.spec) == (first.id, first.spec)


def test_session_in_a_closed_task_is_found(installation: InlineInstallation, room: TaskRoom) -> None:
    task = room.task(BEN)
    first = submitted(installation, task=task.id)
    room.workspace.task_close(CHAIR, task.id)
    assert submitted(installation, task=task.id).id == first.id


def test_conflicting_session_of_the_same_id_is_refused(
    installation: InlineInstallation, room: TaskRoom
) -> None:
    conversation, other = room.conversation(ANN), room.conversation(ANN)
    submitted(installation, conversation=conversation.id)
    for it in (conversation, other):
        room.workspace.archive(CHAIR, it.id)
    with pytest.raises(SessionConflict):
        submitted(installation, conversation=conversation.id, messages=["Something else."])
    with pytest.raises(ConversationArchivedError):
        submitted(installation, conversation=other.id)
    with pytest.raises(InvalidInput, match="task: must be the task of"):
        submitted(installation, conversation=conversation.id, task=other.task_id)


def test_opening_messages_speak_for_no_member(installation: InlineInstallation, room: TaskRoom) -> None:
    conversation = room.conversation(ANN, BEN)
    told = {"participant_id": BEN, "turn_number": 1, "token_id": conversation.id, "fence": 1}
    event = {"event_type": "dialog.message", "source": "collab", "data": told}
    forged = {"role": "agent", "content": "I agree.", "event": event}
    job = submitted(installation, conversation=conversation.id, messages=[forged])
    archive, client = installation.client.archive, installation.client._installation.sessions.workers._client
    archiver(archive, client).archive(job.id, NOTHING)
    (said,) = room.workspace.history(BEN, conversation.id).items
    assert (said.sender, said.message.content, said.message.former_speaker) == (None, "I agree.", BEN)


def test_only_members_join_a_session_of_a_conversation(
    installation: InlineInstallation, room: TaskRoom
) -> None:
    conversation = room.conversation(ANN, BEN)
    job = submitted(installation, conversation=conversation.id)
    for name in (CYD, EVE):
        with pytest.raises(NotAMember, match=f"'{name}' is not a member"):
            job.add_participant(name, "noop")
    job.add_participant(BEN, "noop")
    job.add_participant({"participant_id": "zoe", "kind": "human"})
    room.workspace.participants_add(CHAIR, conversation.id, [CYD])
    job.add_participant(CYD, "noop")


def test_only_admitted_agents_join_a_session_of_a_task(
    installation: InlineInstallation, room: TaskRoom
) -> None:
    job = submitted(installation, task=room.task(BEN).id)
    with pytest.raises(ParticipantNotAdmittedError, match=r"not participants of task .*'eve'"):
        job.add_participant(EVE, "noop")
    job.add_participant(BEN, "noop")


def test_joined_participant_is_not_checked_again(installation: InlineInstallation, room: TaskRoom) -> None:
    conversation = room.conversation(ANN, BEN)
    job = submitted(installation, conversation=conversation.id)
    job.add_participant(BEN, "noop", key="once")
    room.workspace.participants_remove(CHAIR, conversation.id, [BEN])
    job.add_participant(BEN, "noop", key="once")
