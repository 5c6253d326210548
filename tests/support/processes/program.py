"""`python -m processes.program APP worker ...`: a worker of another app, started as `python -m symposia.workers` starts its own."""

from __future__ import annotations

import sys
from functools import partial

from celery.app.utils import find_app

from symposia.workers.__main__ import run

if __name__ == "__main__":
    run(partial(find_app, sys.argv[1]), sys.argv[2:])
