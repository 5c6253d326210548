"""A Celery application with a session between two tasks of its own: python shop.py "a red door"

Its workers run both: celery -A shop worker
"""

import os
import sys
from pathlib import Path

from celery import Celery, chain

import symposia
from symposia.config.settings import load_settings

REDIS_URL = os.environ.get("REDIS_URL", "redis://127.0.0.1:6379/0")
FOLDER = Path(__file__).parent

app = Celery("shop", broker=REDIS_URL, backend=REDIS_URL)
app.conf.update(task_default_queue="shop", broker_connection_retry_on_startup=True)
symposia.install(app, load_settings(redis_url=REDIS_URL, archive=False, agents_file=FOLDER / "agents.toml"))


@app.task
def prepare(topic):
    """Return what the panel talks about."""
    return topic.strip().rstrip(".")


@app.task
def report(result):
    """Return a line about an ended session."""
    return f"{result['turns']} turns, {result['status']}: {result['text']}"


def offer(topic):
    """Send the three steps; the result is that of the last one."""
    panel = symposia.session.s(FOLDER / "panel.yaml", previous="topic")
    return chain(prepare.s(topic), panel, report.s()).apply_async()


if __name__ == "__main__":
    print(offer(sys.argv[1]).get(timeout=60))
