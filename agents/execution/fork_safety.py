"""Fork safety: a forked child must not use threads, locks and connections of its parent."""

from __future__ import annotations

import os
import weakref
from typing import Protocol


class Forgetful(Protocol):
    """An object that can restart in a forked child."""

    def forget(self) -> None:
        """Drop what belongs to the parent process, locks included, without touching it."""
        ...


def forget_in_children(thing: Forgetful) -> None:
    """Have `thing.forget()` called in every process forked from this one, for as long as `thing` lives."""
    _things.add(thing)


_things: weakref.WeakSet[Forgetful] = weakref.WeakSet()


def _forget_all() -> None:
    for thing in list(_things):
        thing.forget()


os.register_at_fork(after_in_child=_forget_all)
