"""Planners, one per mode: pure functions from a session view to a step.

To add a mode, add a module here that defines `MODE`, and add its name to the list in `registry.py`.
"""

from .mode import Demo, Mode
from .registry import (
    add_mode,
    check_mode_options,
    check_step,
    effective_stop,
    judge_hand_offs,
    mode_of,
    modes,
)

__all__ = [
    "Demo",
    "Mode",
    "add_mode",
    "check_mode_options",
    "check_step",
    "effective_stop",
    "judge_hand_offs",
    "mode_of",
    "modes",
]
