"""The sets of files in a data set for evaluations: without pydantic, for the help of commands."""

from __future__ import annotations

from enum import StrEnum


class DefectSet(StrEnum):
    """What the files of a data set are for."""

    #: Prompts are tuned on them.
    TUNING = "tuning"
    #: They only measure.
    HELD_BACK = "held-back"
