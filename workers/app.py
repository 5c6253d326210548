"""The Celery app.

celery -A symposia.workers worker          # as any Celery user expects
symposia worker                            # the same, with this project's defaults
"""

from __future__ import annotations

from ..config.settings import load_settings
from .making import create_app

app = create_app(load_settings())
