"""The Celery app of this installation.

celery -A symposia.workers worker          # as any Celery user expects
symposia worker                            # the same, with this project's defaults
"""

from __future__ import annotations

import sys

from ..agents.programs.process import hide_environment
from ..config.settings import load_settings
from .logs import configure_logging, install_log_setup
from .worker_app import create_worker_app

hide_environment()
settings = load_settings()
app = create_worker_app(settings)
install_log_setup(settings)
if "flower" in sys.argv[1:]:  # celery -A symposia.workers flower
    from .dashboard import install

    install()
    if settings.log_format == "json":  # Tornado adds no handler of its own to another one
        configure_logging(settings)
