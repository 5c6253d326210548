"""The file of schedules: what an operator wants to be done at set times, in a repository of theirs.

    [nightly]
    cron = "0 3 * * *"
    zone = "Europe/Berlin"
    review = {panel = "code", root = "app", since_last = true}

    [standup]
    every = "1d"
    job = "standup"
    overlap = "cancel"
    missed = "once"

A beat reads it when it starts. Schedules that were added otherwise stay as they are.
"""

from __future__ import annotations

import tomllib
from pathlib import Path

from ..config.settings import Settings
from ..models.errors import InvalidInput
from ..models.schedules.schedule import Schedule
from ..reviews.schedules import read_schedules

#: Where schedules are looked for when none is configured.
USUAL_FILE = Path("schedules.toml")
#: Bytes it may have.
_MAX_BYTES = 1024 * 1024


def schedules_of(settings: Settings) -> list[Schedule] | None:
    """What stands in the file; None where there is none.

    Raises:
        InvalidInput: the file, the field and the rule.
    """
    path = settings.schedules_file
    if path is None:
        if not USUAL_FILE.is_file():
            return None
        path = USUAL_FILE
    try:
        with path.open("rb") as file:
            raw = file.read(_MAX_BYTES + 1)
        if len(raw) > _MAX_BYTES:
            raise InvalidInput("", str(path), f"must be a file of at most {_MAX_BYTES} bytes")
        return read_schedules(tomllib.loads(raw.decode()))
    except OSError as error:
        raise InvalidInput(
            "SYMPOSIA_SCHEDULES_FILE", str(path), f"cannot be read: {error.strerror}"
        ) from None
    except UnicodeDecodeError:
        raise InvalidInput("", str(path), "must be text in UTF-8") from None
    except tomllib.TOMLDecodeError as error:
        raise InvalidInput("", str(path), f"is not TOML: {error}") from None
    except InvalidInput as error:
        raise error.within(path.name) from None
