"""The Celery app of the project: its workers run sessions beside its own tasks."""

import os

from celery import Celery

import symposia

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "shop.settings")
app = Celery("shop")
app.config_from_object("django.conf:settings", namespace="CELERY")
symposia.install(app)
