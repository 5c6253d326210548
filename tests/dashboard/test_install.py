"""Installation in Flower: a failed one changes nothing and can be repeated."""

from __future__ import annotations

import subprocess
import sys

import pytest

from scaling import patient

#: Flower's module-level values are changed, so it runs in a process of its own.
PROGRAM = """
from flower.urls import handlers, settings
from symposia.workers.dashboard import install

path, before = settings.pop("template_path"), list(handlers)
try:
    install()
except KeyError:
    pass
assert handlers == before, "a failed installation added routes"
settings["template_path"] = path
install()
count = len(handlers)
assert count > len(before)
install()
assert len(handlers) == count, "a second installation added routes"
"""


@pytest.mark.long
def test_a_failed_installation_can_be_repeated():
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=patient(30), check=False
    )
    assert done.returncode == 0, done.stderr
