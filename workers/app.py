"""The Celery app of this installation.

celery -A symposia.workers worker          # as any Celery user expects
symposia worker                            # the same, with this project's defaults
"""

from __future__ import annotations

from ..config.settings import known_secrets, load_settings
from ..factories.connection import urls_in_use
from .worker_app import create_worker_app, redact_logs

settings = load_settings()
app = create_worker_app(settings)
redact_logs(known_secrets(urls_in_use(settings)))
