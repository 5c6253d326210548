"""What is to be done with the report of a run that has ended: wishes, and one errand for each way it goes."""

from __future__ import annotations

from typing import Annotated

from pydantic import ConfigDict, Field

from ..ids import Id
from ..schedules.schedule import Name
from ..turn import Frozen

Formats = Annotated[tuple[Name, ...], Field(max_length=10)]


class Wishes(Frozen):
    """What whoever started a batch wants done with its report. What else was wished for is others' business."""

    model_config = ConfigDict(extra="ignore")

    #: Names of deliveries.
    deliver: Annotated[tuple[Name, ...], Field(max_length=10)] = ()
    #: Of reports.
    formats: Formats = ("markdown",)
    #: Nothing is delivered unless a finding is new or gone, or the run did not get through.
    only_on_change: bool = False


class Errand(Frozen):
    """One delivery of one run. It names what the settings of the workers know, and holds nothing of the run."""

    run: Id
    to: Name
    formats: Formats
    #: Tries that have failed.
    failed: Annotated[int, Field(ge=0, le=1_000)] = 0
