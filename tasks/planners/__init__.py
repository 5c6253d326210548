"""One pure planner a mode: a session view in, a step out. A new mode is a new file here."""

from .fitting import check_fit
from .registry import board_at_end, effective_stop, judge_hand_offs, planner_for
from .soundness import check_step

__all__ = ["board_at_end", "check_fit", "check_step", "effective_stop", "judge_hand_offs", "planner_for"]
