"""Arguments of the tools for all sessions. The schemas that clients read are made of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictInt, StrictStr, ValidationError

from ...models.errors import invalid_input
from ...models.sessions.shown_status import ShownStatus

#: Maximum number of sessions in a list.
MAX_LISTED = 100


class Arguments(BaseModel):
    """Arguments of a tool."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @classmethod
    def read(cls, given: Mapping[str, Any]) -> Self:
        """Read the arguments of a call.

        Raises:
            InvalidInput: A value is missing, unknown, or breaks a rule.
        """
        try:
            return cls.model_validate(given)
        except ValidationError as error:
            raise invalid_input(error, "") from None


class ListArguments(Arguments):
    """Arguments of `list_sessions`."""

    status: ShownStatus | None = Field(
        default=None, description="Only sessions with this status, as pages show it."
    )
    limit: StrictInt = Field(default=20, ge=1, le=MAX_LISTED, description="Maximum number of sessions.")
    cursor: StrictStr | None = Field(
        default=None, max_length=500, description="`next_cursor` of the page before."
    )


class SessionArguments(Arguments):
    """The session of a call."""

    session_id: StrictStr = Field(max_length=100, description="Id of the session.")


class GetArguments(SessionArguments):
    """Arguments of `get_session`."""

    wait: StrictBool = Field(default=True, description="False: return the state now.")


class ReplyArguments(SessionArguments):
    """Arguments of `reply_to_question`."""

    question_id: StrictStr = Field(max_length=100, description="Id of the question, from `questions`.")
    answer: StrictStr = Field(min_length=1, description="The answer; one of `choices` if there are any.")
    person: StrictStr | None = Field(
        default=None,
        max_length=200,
        alias="as",
        description="Name of the person who answers. Default: the caller, or else the first one who is asked.",
    )


class CancelArguments(SessionArguments):
    """Arguments of `cancel_session`."""

    reason: StrictStr = Field(
        default="cancelled", min_length=1, max_length=500, description="Reason that the session records."
    )
