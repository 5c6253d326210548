"""The Celery app.

celery -A symposia.workers worker          # as any Celery user expects
symposia worker                            # the same, with this project's defaults
"""

from __future__ import annotations

from ..config.secrets import known_secrets
from ..config.settings import load_settings
from .connection import urls_in_use
from .making import create_app
from .redaction import redact_logs

settings = load_settings()
app = create_app(settings)
redact_logs(known_secrets(urls_in_use(settings)))
