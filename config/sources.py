"""Where the values of settings come from: the command line, the environment, Django's settings, then `symposia.toml`."""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..models.errors import InvalidInput
from ..models.text.nearest import did_you_mean
from ..models.text.paths import TomlFileError, all_may_write, is_of_other_user, may_be_planted, read_toml
from ..models.text.redact import without_password
from .chosen import chosen_for_process
from .django_source import TABLE, read_django_settings
from .project import SETTINGS_FILE, project_folder

PREFIX = "SYMPOSIA_"
#: Variable with the path of the settings file; without it, that of the project is read if it exists.
FILE_VARIABLE = f"{PREFIX}CONFIG"
_NAME_IT = f"if you trust it, name it with {FILE_VARIABLE}"
#: Value of `FILE_VARIABLE` in child processes, whose variables hold every setting: an empty file.
NO_FILE = os.devnull

#: Variables that are read if the `SYMPOSIA_*` one is not set (dialog state document, section 5).
ALTERNATIVE_NAMES = {
    "redis_url": "REDIS_URL",
    "memory_ttl_s": "DIALOG_STATE_TTL_SECONDS",
    "memory_max_bytes": "DIALOG_STATE_MAX_SIZE_BYTES",
}
#: Starts of variables that belong to the tests of this project.
_OF_TESTS = (f"{PREFIX}TEST_", f"{PREFIX}MPLP_DIR", f"{PREFIX}SEEDS_DIR")


@dataclass(frozen=True, slots=True)
class ConfiguredValue:
    """A value of the command line, of the environment or of the settings file.

    Attributes:
        value: The value, not yet checked.
        source: Option, name of the variable, or path of the file.
        is_file: Whether the source is the file.
    """

    value: Any
    source: str
    is_file: bool = False

    def label(self, name: str) -> str:
        """Return where an error says that the setting `name` is: the variable, or file and key."""
        return f"{self.source}: {name}" if self.is_file else self.source


def variable_of(name: str) -> str:
    """Return the environment variable of a setting."""
    return f"{PREFIX}{name.upper()}"


def configured_values(names: Collection[str], paths: Collection[str]) -> dict[str, ConfiguredValue]:
    """Return the configured settings by name: the command line, then variables, Django's settings, then the file.

    Args:
        names: The names of all settings.
        paths: The settings whose values are paths; relative ones in the file start at its folder.

    Raises:
        InvalidInput: The file cannot be read, or it or the table in Django's settings has an unknown key.
    """
    chosen = {name: ConfiguredValue(value, option) for name, (value, option) in chosen_for_process().items()}
    return {**_from_file(names, paths), **_from_django(names), **_from_environment(names), **chosen}


def _from_django(names: Collection[str]) -> dict[str, ConfiguredValue]:
    if is_child():  # its variables hold every setting
        return {}
    table = read_django_settings(names)
    return {name: ConfiguredValue(value, f"{TABLE}[{name!r}]") for name, value in table.items()}


def _from_environment(names: Collection[str]) -> dict[str, ConfiguredValue]:
    """Return the settings whose variable has a value; a blank one counts as not set.

    A secret that was made from a file often ends with a line break.
    """
    configured = {}
    for name in names:
        for variable in (variable_of(name), ALTERNATIVE_NAMES.get(name, "")):
            if value := os.environ.get(variable, "").strip():
                configured[name] = ConfiguredValue(value, variable)
                break
    return configured


def _is_named() -> bool:
    return bool(os.environ.get(FILE_VARIABLE))


def settings_file() -> Path | None:
    """Return the settings file in use; None: there is none."""
    if named := os.environ.get(FILE_VARIABLE):
        return Path(named)
    folder = project_folder()
    file = folder / SETTINGS_FILE
    if not file.is_file():
        return None
    # Above the working folder, an agents file of this user may be beside a settings file of another one.
    return None if folder != Path.cwd() and is_of_other_user(file) else file


def _from_file(names: Collection[str], paths: Collection[str]) -> dict[str, ConfiguredValue]:
    file = settings_file()
    if file is None:
        return {}
    _check_trust(file)
    try:
        table = read_toml(file)
    except TomlFileError as error:
        name = FILE_VARIABLE if _is_named() else SETTINGS_FILE
        raise InvalidInput(name, str(file), error.rule) from None
    _check_keys(file, table, names)
    folder = file.absolute().parent
    return {
        name: ConfiguredValue(_from_folder(value, folder) if name in paths else value, str(file), True)
        for name, value in table.items()
        if value != ""  # counts as not set, as in the environment
    }


def _check_keys(file: Path, table: Mapping[str, object], names: Collection[str]) -> None:
    """Raise InvalidInput for a key that is no setting, and for a setting inside a table; values may be secrets."""
    for key, value in table.items():
        if key not in names:
            raise InvalidInput(str(file), key, f"has an unknown key{did_you_mean(key, names)}")
        for inner in value if isinstance(value, dict) else ():
            # `archive` may be the name of a job.
            if inner in names and "_" in inner:
                rule = f"[{key}] has the name of a setting; write settings above the first [table]"
                raise InvalidInput(str(file), inner, rule)


def _check_trust(file: Path) -> None:
    """Raise InvalidInput if another user may have left the file in the working folder: it can name code to run."""
    if _is_named():
        return
    try:
        is_planted = may_be_planted(file)
    except OSError:  # reading it reports the error
        return
    if is_planted:
        rule = f"must not be left by another user where all may write; {_NAME_IT}"
        raise InvalidInput(SETTINGS_FILE, str(file), rule)


def _from_folder(value: object, folder: Path) -> object:
    """Return a path, or a table of paths, in which relative paths start at `folder`."""
    if isinstance(value, dict):
        return {name: _from_folder(path, folder) for name, path in value.items()}
    return str(folder / value) if isinstance(value, str) and not value.startswith("~") else value


def find_problems(names: Collection[str]) -> list[str]:
    """Return a line for unknown `SYMPOSIA_*` variables, and one for each risk of the settings file.

    Args:
        names: The names of all settings.
    """
    variables = {*map(variable_of, names), FILE_VARIABLE}
    unknown = sorted(
        variable
        for variable in os.environ
        if variable.startswith(PREFIX) and variable not in variables and not variable.startswith(_OF_TESTS)
    )
    lines = []
    if unknown:
        named = "; ".join(f"{variable}{did_you_mean(variable, variables)}" for variable in unknown)
        lines.append(f"environment variables that are no setting are ignored: {named}")
    file = settings_file()
    if file is not None:
        lines += _ownership_problems(file)
    if file is not None and _is_exposed(file):
        lines.append(f"{file} holds a password and all users can read it: chmod 600 {file}")
    return lines


def _ownership_problems(file: Path) -> list[str]:
    try:
        if not _is_named() and is_of_other_user(file):
            return [f"{file} belongs to another user; {_NAME_IT}"]
        is_open = file.is_file() and all_may_write(file)
    except OSError:  # reading the settings reports it
        return []
    return [f"all users can write {file}, which can name code to run: chmod o-w {file}"] if is_open else []


def _is_exposed(file: Path) -> bool:
    """Return whether other users may read a file in which a URL has a password."""
    try:
        return bool(file.stat().st_mode & stat.S_IROTH) and _has_password(read_toml(file))
    except (OSError, TomlFileError):  # reading the settings reports it
        return False


def _has_password(table: Mapping[str, object]) -> bool:
    return any(
        isinstance(value, str) and "://" in value and without_password(value) != value
        for value in table.values()
    )


def is_child() -> bool:
    """Return whether a program of Symposia started this process with `child_environment`."""
    return os.environ.get(FILE_VARIABLE) == NO_FILE
