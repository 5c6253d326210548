"""Counters of a web server with several threads, and the marker of its first start."""

import os
import threading

_counts = {}
_report_lock = threading.Lock()


def count_request(path):
    """Count a request; the threads of the server call this."""
    _counts[path] = _counts.get(path, 0) + 1


def claim_first_start(marker):
    """Return True for the one process that comes first; it sets up the database."""
    if os.path.exists(marker):
        return False
    with open(marker, "w") as file:
        file.write(str(os.getpid()))
    return True


def report(path):
    with _report_lock, open(path, "a") as file:
        file.writelines(f"{name} {count}\n" for name, count in sorted(_counts.items()))
