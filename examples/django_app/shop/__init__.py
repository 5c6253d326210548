"""A Django project whose views submit sessions; see docs/django.md."""

from shop.celery import app as celery_app

__all__ = ["celery_app"]
