"""The soak runs, reports, and puts its table where it belongs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from chaos.faults.catalogue import FAULTS
from chaos.report import Tally
from chaos.rounds import Round
from chaos.script import Finding
from chaos.soak import fill
from servers.rabbit import MISSING, program

pytestmark = [pytest.mark.xdist_group("faults-of-redis"), pytest.mark.timeout(180), pytest.mark.long]
SUPPORT = Path(__file__).parents[1] / "support"


def soak(*options):
    """Run one round and return its output."""
    path = os.pathsep.join(filter(None, (str(SUPPORT), os.environ.get("PYTHONPATH"))))
    command = [sys.executable, "-m", "chaos.soak", "--minutes", "0", *options]
    environment = {**os.environ, "PYTHONPATH": path}
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


def test_one_round_of_a_seed_ends_with_a_report(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# Before\n<!-- soak: here -->\nold\n<!-- /soak -->\nafter\n")
    faults = ("--fault", "worker killed, speaking", "--fault", "scripts flushed")
    told = soak("--seed", "11", "--into", str(page), "--sessions", "12", "--broker", "redis", *faults)
    assert "round 1, seed 11: 12 sessions" in told
    assert "turns lost" in told
    assert "sessions stuck" in page.read_text()
    assert page.read_text().startswith("# Before\n<!-- soak: here -->")
    assert page.read_text().endswith("<!-- /soak -->\nafter\n")
    assert "old" not in page.read_text()


@pytest.mark.skipif(program() is None, reason=MISSING)
def test_one_round_over_amqp_survives_a_broker_restart():
    faults = ("--fault", "broker restarted", "--fault", "worker killed, speaking")
    told = soak("--seed", "12", "--sessions", "12", "--broker", "amqp", *faults)
    assert "round 1, seed 12 over amqp: 12 sessions" in told


@pytest.mark.long
@pytest.mark.parametrize(
    ("broker", "loss"),
    [
        ("redis", "queue deleted"),
        pytest.param(
            "amqp",
            "queue of the broker deleted",
            marks=pytest.mark.skipif(program() is None, reason=MISSING),
        ),
    ],
)
def test_waiting_sessions_survive_a_lost_queue(broker, loss):
    faults = ("--fault", loss, "--fault", "worker killed, speaking")
    told = soak("--seed", "13", "--waiting", "--sessions", "100", "--broker", broker, *faults)
    assert "100 sessions that wait" in told
    assert "rounds in which all sessions wait" in told


def test_findings_are_counted_with_their_seed():
    tally = Tally(seed=1)
    tally.add(Round(sessions=3, turns=9, befell=[True, False]), ["a fault", "another"], seed=1)
    found = Round(sessions=3, findings=[Finding("s", "lost", "turn 2"), Finding("s", "stuck", "")], befell=[])
    tally.add(found, [], seed=2)
    assert (tally.sessions, tally.bad_seeds, tally.is_clean) == (6, [2], False)
    assert tally.faults == {"a fault": 1}, "one did not find its occasion"
    rows = [[cell.strip() for cell in line.split("|")[1:3]] for line in tally.table().splitlines() if line]
    assert ["turns lost", "1"] in rows
    assert ["turns doubled", "0"] in rows


def test_soak_page_can_be_filled_again(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("<!-- soak: here --><!-- /soak -->")
    fill(page, "one")
    fill(page, "two")
    assert page.read_text() == "<!-- soak: here -->\n\ntwo\n\n<!-- /soak -->"


def test_every_fault_has_its_own_name():
    assert len(FAULTS) >= 30
    assert len(set(FAULTS.values())) == len(FAULTS)
