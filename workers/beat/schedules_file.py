"""Schedules file: schedules that an operator keeps in a file, for example in a repository.

    [nightly]
    cron = "0 3 * * *"
    zone = "Europe/Berlin"
    review = {panel = "code", root = "app", since_last = true}

    [standup]
    every = "1d"
    job = "standup"
    overlap = "cancel"
    missed = "once"

A beat reads the file when it starts. Schedules that were added in another way do not change.
"""

from __future__ import annotations

from pathlib import Path

from ...config.settings import Settings
from ...models.errors import InvalidInput
from ...models.text.paths import TomlFileError, read_toml
from ...schedules.schedule import Schedule
from ...schedules.schedules import read_schedules

#: Default path, in the working folder.
DEFAULT_FILE = Path("schedules.toml")


def load_schedules_file(settings: Settings) -> list[Schedule] | None:
    """Return the schedules of the file; None without a file.

    Raises:
        InvalidInput: The file is wrong; the message names file, field and rule.
    """
    path = settings.schedules_file
    if path is None:
        if not DEFAULT_FILE.is_file():
            return None
        path = DEFAULT_FILE
    try:
        return read_schedules(read_toml(path))
    except TomlFileError as error:
        raise InvalidInput("SYMPOSIA_SCHEDULES_FILE", str(path), error.rule) from None
    except InvalidInput as error:
        raise error.within(path.name) from None
