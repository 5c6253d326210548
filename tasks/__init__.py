"""What Celery runs: turns, planning, and what keeps both going."""
