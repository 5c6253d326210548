"""Settings of the project."""

import os
from pathlib import Path

BASE_DIR = Path(__file__).parents[1]
REDIS_URL = os.environ.get("REDIS_URL", "redis://127.0.0.1:6379/0")

SECRET_KEY = os.environ.get("SECRET_KEY", "of-the-example")
ALLOWED_HOSTS = ["127.0.0.1", "localhost", "testserver"]
ROOT_URLCONF = "shop.urls"
INSTALLED_APPS = ["shop"]
MIDDLEWARE = ["django.middleware.csrf.CsrfViewMiddleware"]
TEMPLATES = [{"BACKEND": "django.template.backends.django.DjangoTemplates", "APP_DIRS": True}]

CELERY_BROKER_URL = REDIS_URL
SYMPOSIA = {"redis_url": REDIS_URL, "archive": False, "agents_file": BASE_DIR / "agents.toml"}
