"""Deliver one run in a process of its own, which a test can kill: `python -m review_tools.deliver_once FILE RUN`."""

from __future__ import annotations

import sys
from pathlib import Path

from review_tools.pulls import payload
from servers.code_hosts.json_server import TOKEN
from symposia.reviews.delivery.destinations import Destinations
from symposia.reviews.values.runs import ReviewRun

if __name__ == "__main__":
    deliveries_file, run = map(Path, sys.argv[1:])
    known = Destinations.load(deliveries_file, getenv={"HOST_TOKEN": TOKEN}.get)
    known.deliver("host", payload(ReviewRun.model_validate_json(run.read_text())))
