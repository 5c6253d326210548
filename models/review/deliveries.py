"""Delivery of the report of an ended run: requests, and one job for each destination."""

from __future__ import annotations

from typing import Annotated

from pydantic import ConfigDict, Field

from ..schedules.schedule import ResourceName
from ..text.ids import Id
from ..turns.turn import Frozen

Formats = Annotated[tuple[ResourceName, ...], Field(max_length=10)]


class DeliveryRequest(Frozen):
    """Deliveries requested by the starter of a batch. Other fields are ignored."""

    model_config = ConfigDict(extra="ignore")

    #: Names of deliveries.
    deliver: Annotated[tuple[ResourceName, ...], Field(max_length=10)] = ()
    #: Of reports.
    formats: Formats = ("markdown",)
    #: Nothing is delivered unless a finding is new or gone, or the run did not get through.
    only_on_change: bool = False


class DeliveryJob(Frozen):
    """One delivery of one run. It names what the settings of the workers know, and holds nothing of the run."""

    run: Id
    to: ResourceName
    formats: Formats
    #: Number of failed attempts.
    failed: Annotated[int, Field(ge=0, le=1_000)] = 0
