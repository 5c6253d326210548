"""What a submitter may say of memory, from Python and in a session file."""

from __future__ import annotations

import pytest

from symposia.models.errors import InvalidInput
from symposia.models.memory.learned import MemoryOptions
from symposia.models.protocol.collab import Collab, Participant
from symposia.models.sessions.submission import Submission

COLLAB = {
    "title": "A trip",
    "purpose": "book it",
    "mode": "round_robin",
    "participants": [{"participant_id": "ann", "agent": "echo"}],
}
THREAD = "7d3c0f37-7c53-4e4e-8a8c-39bd1d9c0f11"


def built(**how) -> Submission:
    return Submission.from_document({**COLLAB, **how})


def test_sentence_is_kept_and_opens_the_dialog():
    submission = built(user_id=1, said="Return on Feb 20?")
    assert submission.memory == MemoryOptions(
        user_id=1, room_id=submission.collab.collab_id, sentence="Return on Feb 20?"
    )
    assert [message.content for message in submission.messages] == ["Return on Feb 20?"]
    given = built(user_id=1, said="Return on Feb 20?", messages=["Another text"])
    assert [message.content for message in given.messages] == ["Another text"]


def test_memory_is_off_by_default():
    assert built().memory is None
    assert built(user_id=None, said=None).memory is None


def test_session_file_may_set_all_memory_options():
    memory = built(
        user_id=42,
        room_id="room_123",
        service="travel",
        said={"to": "London", "passenger_count": "2"},
        defaults={"cabin_class": "Economy"},
    ).memory
    assert memory == MemoryOptions(
        user_id=42,
        room_id="room_123",
        service="travel",
        said={"to": "London", "passenger_count": 2},
        defaults={"cabin_class": "economy"},
    )


def test_room_is_the_thread_or_else_the_session():
    submission = built(user_id=42)
    assert submission.memory is not None
    assert submission.memory.room_id == submission.collab.collab_id
    threaded = built(user_id=42, thread_id=THREAD).memory
    assert threaded is not None
    assert threaded.room_id == THREAD


def test_python_takes_the_same_options():
    collab = Collab(
        title="t", purpose="p", mode="round_robin", participants=[Participant(participant_id="ann")]
    )
    memory = Submission.build(collab, user_id="ann@example", room_id=7, said={"to": "Oslo"}).memory
    assert memory == MemoryOptions(user_id="ann@example", room_id="7", said={"to": "Oslo"})


@pytest.mark.parametrize(
    ("how", "line"),
    [
        ({"service": "alchemy"}, "service: must be one of travel, payment, search, scheduling, email"),
        ({"service": 7}, "service: must be one of"),
        ({"user_id": 1, "said": ["London"]}, "said: must be a valid dictionary"),
        ({"user_id": 1, "said": " "}, "said: must be parameters, or a message of 1 to 32768 characters"),
        ({"user_id": 1, "defaults": {"to": float("nan")}}, "defaults"),
        ({"service": "travel", "said": {"": 1}}, r"said.travel.name: must be a parameter name"),
        ({"user_id": {}}, "user_id: must be a number, or text"),
        ({"user_id": 1, "room_id": ["r"]}, "room_id: must be a number, or text"),
    ],
)
def test_bad_choices_are_refused_in_one_line(how, line):
    with pytest.raises(InvalidInput, match=f"^{line}"):
        built(**how)
