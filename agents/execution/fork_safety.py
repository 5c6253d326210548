"""Fork safety: a forked child must not use threads, locks and connections of its parent."""

from __future__ import annotations

import os
import weakref
from typing import Protocol


class ForkAware(Protocol):
    """An object that can restart in a forked child."""

    def reset_after_fork(self) -> None:
        """Drop what belongs to the parent process, locks included, without touching it."""
        ...


def reset_in_children(thing: ForkAware) -> None:
    """Have `thing.forget()` called in every process forked from this one, for as long as `thing` lives."""
    _fork_aware.add(thing)


_fork_aware: weakref.WeakSet[ForkAware] = weakref.WeakSet()


def _reset_all() -> None:
    for thing in list(_fork_aware):
        thing.reset_after_fork()


os.register_at_fork(after_in_child=_reset_all)
