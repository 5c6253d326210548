"""The protocol's mode selection guide."""

from itertools import product

import pytest

from symposia.models.errors import InvalidInput
from symposia.models.protocol.collab import CollabMode, recommend_mode

FLAGS = ("central_control", "independent", "sequential")


@pytest.mark.parametrize("flags", list(product([False, True], repeat=3)))
def test_two_participants_are_a_pair(flags):
    assert recommend_mode(2, **dict(zip(FLAGS, flags, strict=True))) is CollabMode.PAIR


@pytest.mark.parametrize("participants", [1, 3, 4, 50])
@pytest.mark.parametrize(
    ("flags", "mode"),
    [
        ((True, True, True), CollabMode.ORCHESTRATED),
        ((True, False, False), CollabMode.ORCHESTRATED),
        ((False, True, True), CollabMode.SWARM),
        ((False, True, False), CollabMode.SWARM),
        ((False, False, True), CollabMode.ROUND_ROBIN),
        ((False, False, False), CollabMode.BROADCAST),
    ],
)
def test_flags_choose_the_mode(participants, flags, mode):
    assert recommend_mode(participants, **dict(zip(FLAGS, flags, strict=True))) is mode


def test_no_participants_have_no_mode():
    with pytest.raises(InvalidInput, match=r"^participants: must be at least 1 \(got 0\)$"):
        recommend_mode(0)
