"""Planners, one per mode: pure functions from a session view to a step.

A program adds a mode of its own with `add_mode`.
"""

from .mode import Mode
from .registry import (
    add_mode,
    check_mode_options,
    check_step,
    effective_stop,
    judge_hand_offs,
    mode_of,
    modes,
    with_position,
)

__all__ = [
    "Mode",
    "add_mode",
    "check_mode_options",
    "check_step",
    "effective_stop",
    "judge_hand_offs",
    "mode_of",
    "modes",
    "with_position",
]
