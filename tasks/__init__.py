"""Tasks that Celery runs: turns and planning, with the sweep and other services around them."""
