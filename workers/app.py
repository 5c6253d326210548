"""The Celery app.

celery -A symposia.workers worker          # as any Celery user expects
symposia worker                            # the same, with this project's defaults
"""

from __future__ import annotations

from ..config.secrets import known_secrets
from ..config.settings import load_settings
from ..factories.connection import urls_in_use
from .redaction import redact_logs
from .worker_app import create_worker_app

settings = load_settings()
app = create_worker_app(settings)
redact_logs(known_secrets(urls_in_use(settings)))
