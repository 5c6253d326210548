"""Pages of sessions in Flower: lists, one session, inbox, schedules and reviews, live.

`install` adds them to Flower in this process. A stock Flower needs this `flowerconfig.py`:

    from symposia.workers.dashboard import install; install()
"""

from __future__ import annotations


def install() -> None:
    """Add the pages to Flower. Call it before Flower is built; a second call does nothing."""
    from .installer import install_dashboard

    install_dashboard()
