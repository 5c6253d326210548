"""The settings of a Celery app on which Symposia is installed. Imports no worker: web processes install it, too."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ...config.settings import Settings, load_settings
from ...models.errors import InvalidInput

if TYPE_CHECKING:
    from celery import Celery

_PREPARE = "symposia_prepare"


def is_installed(app: Celery) -> bool:
    """Return whether Symposia is installed on an app."""
    return hasattr(app, _PREPARE)


def install_settings(app: Celery, prepare: Callable[[], Settings]) -> None:
    """Set the function that prepares an app, if needed, and returns the settings of its installation."""
    setattr(app, _PREPARE, prepare)


def settings_of_app(app: Celery, given: Settings | None = None) -> Settings:
    """Return the settings of an app, which can then send the tasks of sessions.

    Args:
        app: The Celery app.
        given: What the settings must be, except for the broker, which is that of the app. None: any.

    Raises:
        InvalidInput: Symposia is not installed on it, or with other settings, or its settings break a rule.
    """
    prepare: Callable[[], Settings] | None = getattr(app, _PREPARE, None)
    if prepare is None:
        rule = "must be an app on which Symposia is installed: call symposia.install(app) first"
        raise InvalidInput("app", app.main or "(no name)", rule)
    settings = prepare()
    if given is not None and (names := _find_differences(settings, given)):
        rule = f"must be omitted, or be those of symposia.install(app): they differ in {', '.join(names)}"
        raise InvalidInput("settings", "(others)", rule)
    return settings


def _find_differences(settings: Settings, given: Settings) -> list[str]:
    names = Settings.model_fields.keys() - {"broker_url"}
    return sorted(name for name in names if getattr(settings, name) != getattr(given, name))


def settings_for(app: Celery) -> Settings:
    """Return the settings of an app, or those of this process if Symposia is not installed on it."""
    return settings_of_app(app) if is_installed(app) else load_settings()
