"""Flower ends at SIGTERM, whatever code the signal interrupts."""

from __future__ import annotations

import logging
import signal
import sys
from contextlib import ExitStack, suppress
from http.client import HTTPException
from pathlib import Path

import pytest
from tornado.http1connection import _ExceptionLoggingContext

from scaling import patient
from servers.flower import COMMAND

#: A page whose handler ends its own process while Tornado starts the request.
CONFIG = """
import os, signal
from flower.urls import handlers
from symposia.dashboard import install
from tornado.web import RequestHandler, url

class Ending(RequestHandler):
    def initialize(self):
        os.kill(os.getpid(), signal.SIGTERM)

install()
handlers.insert(0, url("/ending", Ending))
"""


def test_tornado_swallows_the_exit_of_flowers_signal_handler():
    """The defect: if this fails, `stop_at_sigterm` in `installer.py` can be removed."""
    with (
        pytest.raises(Exception, match=r"^$") as raised,
        _ExceptionLoggingContext(logging.getLogger("quiet")),
    ):
        raise SystemExit(0)
    assert not isinstance(raised.value, SystemExit)


@pytest.mark.long
def test_flower_ends_while_it_starts_a_request(start_flower, tmp_path: Path):
    (tmp_path / "flowerconfig.py").write_text(CONFIG)
    flower = start_flower(program=(sys.executable, "-m", "celery", "-A", "symposia.workers", "flower"))
    with suppress(OSError, HTTPException):
        flower.get("/ending")
    assert flower.process.wait(patient(20)) == 0, flower.log()


@pytest.mark.long
def test_flower_ends_with_open_streams(start_flower):
    flower = start_flower(program=COMMAND)
    with ExitStack() as stack:
        streams = [stack.enter_context(flower.stream("/api/collabs/stream")) for _ in range(3)]
        assert [it.status for it in streams] == [200] * 3
        flower.process.send_signal(signal.SIGTERM)
        assert flower.process.wait(patient(20)) == 0, flower.log()
    assert "Traceback" not in flower.log()
