"""Records read back from Redis: what Symposia wrote, unless somebody else wrote there, too."""

from __future__ import annotations

from typing import TypeVar

from pydantic import BaseModel, ValidationError

from ..models.errors import CorruptSession, InvalidInput, invalid_input

M = TypeVar("M", bound=BaseModel)


def read_stored(kind: type[M], text: str, *, session_id: str, part: str) -> M:
    """A record from its JSON; `part` says where it stood, e.g. `events`.

    Raises:
        CorruptSession: it is not such a record.
    """
    try:
        return kind.model_validate_json(text)
    except ValidationError as error:
        raise CorruptSession(session_id, part=part, detail=str(invalid_input(error))) from None
    except InvalidInput as error:
        raise CorruptSession(session_id, part=part, detail=str(error)) from None
