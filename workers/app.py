"""The Celery app of this installation.

celery -A symposia.workers worker          # as any Celery user expects
symposia worker                            # the same, with this project's defaults
"""

from __future__ import annotations

import sys
from pathlib import Path

from ..agents.programs.process import hide_environment
from ..config.settings import load_settings
from .logs import configure_logging, install_log_setup
from .worker_app import create_worker_app

hide_environment()
# Agents import modules of the working folder. `python -m` has it on the import path, the command `celery` does not.
if (folder := str(Path.cwd())) not in sys.path:
    sys.path.insert(0, folder)
settings = load_settings()
app = create_worker_app(settings)
install_log_setup(settings)
if "flower" in sys.argv[1:]:  # celery -A symposia.workers flower
    from .dashboard import install

    install()
    if settings.log_format == "json":  # Tornado adds no handler of its own to another one
        configure_logging(settings)
