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


def settings_of_app(app: Celery) -> Settings:
    """Return the settings of an app, which can then send the tasks of sessions.

    Raises:
        InvalidInput: Symposia is not installed on it, or its settings break a rule.
    """
    prepare: Callable[[], Settings] | None = getattr(app, _PREPARE, None)
    if prepare is None:
        rule = "must be an app on which Symposia is installed: call symposia.install(app) first"
        raise InvalidInput("app", app.main or "(no name)", rule)
    return prepare()


def settings_for(app: Celery) -> Settings:
    """Return the settings of an app, or those of this process if Symposia is not installed on it."""
    return settings_of_app(app) if is_installed(app) else load_settings()
