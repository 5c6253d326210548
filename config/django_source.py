"""Settings in Django's settings module: `SYMPOSIA = {"redis_url": "redis://..."}`."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Mapping

from ..models.errors import InvalidInput
from ..models.text.nearest import did_you_mean

#: Name of the table in Django's settings, for errors.
TABLE = "settings.SYMPOSIA"
_MODULE_VARIABLE = "DJANGO_SETTINGS_MODULE"


def read_django_settings(names: Collection[str]) -> Mapping[str, object]:
    """Return the table `SYMPOSIA` of Django's settings; empty without it, or if this process does not use Django.

    Args:
        names: The names of all settings.

    Raises:
        InvalidInput: It is not a table, or has an unknown key.
    """
    if "django" not in sys.modules:
        return {}
    from django.conf import settings

    if not (settings.configured or os.environ.get(_MODULE_VARIABLE)):
        return {}
    table = getattr(settings, "SYMPOSIA", {})
    if not isinstance(table, Mapping):
        raise InvalidInput(TABLE, type(table).__name__, "must be a table of settings by name")
    for key in table:
        if key not in names:
            raise InvalidInput(TABLE, key, f"has an unknown key{did_you_mean(str(key), names)}")
    # Blank and None: not set, as in the environment.
    return {name: value for name, value in table.items() if value not in ("", None)}
