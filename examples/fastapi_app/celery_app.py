"""The Celery app: its workers run sessions beside its own tasks."""

import os
from pathlib import Path

from celery import Celery

import symposia
from symposia.config.settings import load_settings

REDIS_URL = os.environ.get("REDIS_URL", "redis://127.0.0.1:6379/0")

app = Celery("shop", broker=REDIS_URL)
settings = load_settings(
    redis_url=REDIS_URL, archive=False, agents_file=Path(__file__).with_name("agents.toml")
)
symposia.install(app, settings)
