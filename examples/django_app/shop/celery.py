"""The Celery app of the project: its workers run sessions beside its own tasks."""

import os

import symposia
from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "shop.settings")
app = Celery("shop")
app.config_from_object("django.conf:settings", namespace="CELERY")
symposia.install(app)
