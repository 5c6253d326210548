"""The settings as documentation shows them: meaning, default, limits, and the value in use with its source."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Literal, get_args, get_origin

from pydantic import SecretStr
from pydantic.fields import FieldInfo

from ..models.text.redact import without_password
from .field_types import Unset
from .settings import Settings, load_configured
from .sources import ALTERNATIVE_NAMES, variable_of


@dataclass(frozen=True, slots=True)
class SettingDescription:
    """The documentation of a setting.

    Attributes:
        name: Name of the field, and key in the settings file.
        variables: Its variables; the second is read if the first is not set.
        meaning: What it is, as Markdown with links to other pages of the documentation.
        default: Its default, or what applies without a value.
        limits: Its allowed range or values; empty for a setting without.
    """

    name: str
    variables: tuple[str, ...]
    meaning: str
    default: str
    limits: str


@dataclass(frozen=True, slots=True)
class SettingInUse:
    """A setting with its value, without passwords.

    Attributes:
        description: Its documentation.
        value: The value in a form that JSON has; None: it has none, and the default applies.
        source: Name of the variable, path of the file, or `default`.
    """

    description: SettingDescription
    value: Any
    source: str


def describe_settings() -> list[SettingDescription]:
    """Return the documentation of all settings, in the order of the fields."""
    return [_describe(name, field) for name, field in Settings.model_fields.items()]


def settings_in_use(settings: Settings) -> list[SettingInUse]:
    """Return all settings with the values of `settings`, and where `load_settings` read them."""
    configured = load_configured()
    return [
        SettingInUse(
            description=setting,
            value=_shown(getattr(settings, setting.name)),
            source=configured[setting.name].source if setting.name in configured else "default",
        )
        for setting in describe_settings()
    ]


def _describe(name: str, field: FieldInfo) -> SettingDescription:
    unset = next((entry.text for entry in field.metadata if isinstance(entry, Unset)), None)
    # A port is written without thousands separators.
    spec = "" if name.endswith("_port") else ","
    bounds = {
        key: value for entry in field.metadata for key in ("ge", "le") if (value := getattr(entry, key, None))
    }
    return SettingDescription(
        name=name,
        variables=(variable_of(name), *filter(None, [ALTERNATIVE_NAMES.get(name)])),
        meaning=field.description or "",
        default=_number(field.default, spec) if unset is None else unset,
        limits=f"{_number(bounds['ge'], spec)} to {_number(bounds['le'], spec)}"
        if bounds
        else _choices(field.annotation),
    )


def _choices(annotation: object) -> str:
    return ", ".join(get_args(annotation)) if get_origin(annotation) is Literal else ""


def _number(value: object, spec: str) -> str:
    """Return a default or a bound in words: numbers with the thousands separator of `spec`."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return f"{value:{spec}.6f}".rstrip("0").rstrip(".")
    return str(value)


def _shown(value: object) -> Any:
    """Return a value in a form that JSON has, without passwords."""
    if isinstance(value, SecretStr):
        return without_password(value.get_secret_value())
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return json.loads(json.dumps(value, default=str))
