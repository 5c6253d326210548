"""Sharing between rooms while turns are under way: consent given or withdrawn holds for what they write."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from sessions.stepper import Stepper
from symposia.memory.rooms import DialogMemory
from symposia.tasks.runtime.runtime import Boundary

pytestmark = pytest.mark.leaves_keys


def speak(stepper: Stepper, meanwhile: Callable[[DialogMemory], None]) -> DialogMemory:
    """Run a turn that learns a trip in room one; something happens while it speaks."""
    memory = stepper.client.memory

    def crossing(crossed: Boundary, session: str, turn: int) -> None:
        if crossed is Boundary.SPEAKING:
            meanwhile(memory)

    job = stepper.open("parser", turns=1, user_id=1, room_id="one")
    assert stepper.turn(job, 1, fault_hook=crossing) == "committed"
    return memory


def test_share_during_a_turn_covers_its_values(stepper: Stepper) -> None:
    memory = speak(stepper, lambda it: it.share(1, ["travel.from"]))
    assert memory.merge(1, "two", {}, service="travel") == {"from": "Nairobi"}


def test_unshare_during_a_turn_covers_its_values(stepper: Stepper) -> None:
    stepper.client.memory.share(1, ["travel.from", "travel.to"])
    memory = speak(stepper, lambda it: it.unshare(1, ["travel.from"]))
    assert memory.merge(1, "two", {}, service="travel") == {"to": "London"}


def test_forgetting_while_sharing_is_not_undone(
    memory: DialogMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The parameter is forgotten after the room was read, and before it is shared."""
    memory.store(1, "one", {"from": "Nairobi"}, service="travel")
    look = memory.kept.read

    def forgetting(owner):
        seen = look(owner)
        if owner.room == "one":
            monkeypatch.setattr(memory.kept, "read", look)
            memory.forget(1, "one", "from")
        return seen

    monkeypatch.setattr(memory.kept, "read", forgetting)
    memory.share(1, ["travel.from"])
    assert memory.get(1, "one")["parameters"] == {}
    assert memory.merge(1, "two", {}, service="travel") == {}
