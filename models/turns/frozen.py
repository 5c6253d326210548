"""Base of the values that travel between planners, workers and agents."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

#: How an agent names someone: by participant id, role id or display name.
ShortText = Annotated[str, Field(max_length=1_000)]


class Frozen(BaseModel):
    """Base of the values that travel: immutable, closed to unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)
