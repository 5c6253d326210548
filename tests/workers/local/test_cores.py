"""The number of worker processes, and the names of the workers."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from symposia.config.settings import load_settings
from symposia.workers.local.worker_group import numbered_name, read_quotas, usable_cores, worker_processes


@pytest.mark.parametrize(
    ("name", "numbered"),
    [(None, "celery-2@%h"), ("w@here", "w-2@here"), ("here", "celery-2@here"), ("a@b@c", "a-2@b@c")],
)
def test_names_get_a_number(name, numbered):
    assert numbered_name(name, 2) == numbered


def test_quotas_of_a_group_and_its_parents_count(tmp_path: Path):
    for folder, text in (("", "150000 100000"), ("app", "max 100000"), ("app/web", "50000 100000")):
        (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / folder / "cpu.max").write_text(text + "\n")
    assert read_quotas("0::/app/web\n", tmp_path) == [1, 2]
    assert read_quotas("0::/\n", tmp_path) == [2]
    assert read_quotas("4:cpu:/app\n", tmp_path) == []
    assert read_quotas("0::/gone\n", tmp_path / "gone") == []


def test_usable_cores_are_at_most_the_affinity():
    assert 1 <= usable_cores() <= (os.cpu_count() or 1)


def test_chosen_number_takes_precedence():
    configured, others = load_settings(worker_processes=3), load_settings(worker_processes=None)
    assert worker_processes(configured, 5) == 5
    assert worker_processes(configured, None, default=1) == 3
    assert worker_processes(others, None, default=1) == 1
    assert worker_processes(others, None) == min(usable_cores(), 64)
