"""Configuration: the settings, and the settings of Celery."""
