"""The alert rules in Prometheus' own evaluation (promtool): each fires for each of its causes, and only then."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from monitoring.alert_causes import FILE, all_causes
from programs import find_program
from scaling import patient

#: Series of an installation without a fault: those that a case does not replace. One value a minute.
HEALTHY = {
    "symposia_workers": "1x90",
    'up{job="symposia"}': "1x90",
    'up{job="other"}': "0x90",
    "symposia_metrics_age_seconds": "5x90",
    "symposia_archive_backlog_sessions": "100x90",
    "symposia_archive_failures_total": "1x90",
    "symposia_memory_unavailable_total": "1x90",
    'symposia_cost_dollars_total{mode="pair"}': "0+0.1x90",
    'symposia_turns_total{mode="pair",outcome="message"}': "0+4x90",
    'symposia_turns_total{mode="pair",outcome="failed"}': "0+0.5x90",
    'symposia_turns_total{mode="pair",outcome="parked"}': "0+4x90",
    'symposia_queue_wait_seconds_bucket{mode="pair",le="30"}': "0+10x90",
    'symposia_queue_wait_seconds_bucket{mode="pair",le="60"}': "0+11x90",
    'symposia_queue_wait_seconds_bucket{mode="pair",le="+Inf"}': "0+11x90",
    'symposia_sessions_stuck{reason="queued"}': "0x90",
    "symposia_parked_turns": "9x90",
}


def stuck(reason: str) -> dict[str, str]:
    return {f'symposia_sessions_stuck{{reason="{reason}"}}': "0x70 1x20"}


def failing(outcome: str) -> dict[str, str]:
    return {f'symposia_turns_total{{mode="pair",outcome="{outcome}"}}': "0+3x90"}


#: By alert and branch: the series with the cause; None: the series is missing.
FAULTS: dict[tuple[str, str], dict[str, str | None]] = {
    ("SymposiaNoWorker", ""): {"symposia_workers": "1x70 0x20"},
    **{("SymposiaSessionsStuck", it): {**stuck(it)} for it in ("queued", "budget", "unreadable", "unswept")},
    **{("SymposiaAgentsFailing", it): {**failing(it)} for it in ("failed", "skipped", "retried")},
    ("SymposiaQueueWait", ""): {'symposia_queue_wait_seconds_bucket{mode="pair",le="30"}': "0+9x90"},
    ("SymposiaArchiveBacklog", ""): {"symposia_archive_backlog_sessions": "101x90"},
    ("SymposiaArchiveFailing", ""): {"symposia_archive_failures_total": "0+1x90"},
    ("SymposiaCost", ""): {'symposia_cost_dollars_total{mode="pair"}': "0+0.2x90"},
    ("SymposiaMemoryUnavailable", ""): {"symposia_memory_unavailable_total": "1x85 2x10"},
    ("SymposiaMetricsOld", "min(symposia_metrics_age_seconds) > 60"): {
        "symposia_metrics_age_seconds": "61x90"
    },
    ("SymposiaMetricsOld", "absent(symposia_metrics_age_seconds)"): {"symposia_metrics_age_seconds": None},
    ("SymposiaEndpointDown", ""): {'up{job="symposia"}': "1x70 0x20"},
}


def check_rules(folder: Path, tests: list[dict[str, Any]]) -> None:
    """Run rule tests with promtool, which prints those that fail."""
    file = folder / "rules_test.yml"  # JSON is YAML
    file.write_text(
        json.dumps({"rule_files": [str(FILE)], "evaluation_interval": "1m", "tests": tests}), "utf-8"
    )
    promtool = find_program("promtool")
    done = subprocess.run(
        [promtool, "test", "rules", str(file)],
        capture_output=True,
        text=True,
        check=False,
        timeout=patient(60),
    )
    assert done.returncode == 0, done.stdout + done.stderr


def rule_test(name: str, series: dict[str, str | None], expected: list[str]) -> dict[str, Any]:
    """Return a test of which alerts fire after 90 minutes. Two endpoints are scraped."""
    of_endpoint = [
        {"series": _with_label(name, f'instance="{endpoint}"'), "values": values}
        for name, values in (HEALTHY | series).items()
        if values is not None
        for endpoint in ("worker", "flower")
    ]
    # promtool prints the expression of a failed test.
    expression = f'# {name}\nmax by (alertname) (ALERTS{{alertstate="firing"}})'
    samples = [{"labels": f'{{alertname="{name}"}}', "value": 1} for name in expected]
    return {
        "interval": "1m",
        "input_series": of_endpoint,
        "promql_expr_test": [{"expr": expression, "eval_time": "90m", "exp_samples": samples}],
    }


def _with_label(name: str, label: str) -> str:
    return f"{name[:-1]},{label}}}" if name.endswith("}") else f"{name}{{{label}}}"


def test_rules_fire_for_each_of_their_causes_only(tmp_path):
    """Also: no rule fires without a fault, and none with a duration for a short fault."""
    causes = [rule_test(" ".join(it.name), FAULTS[it.name], [it.alert]) for it in all_causes()]
    check_rules(
        tmp_path,
        [
            rule_test("no fault", {}, []),
            rule_test("short fault", {"symposia_workers": "1x89 0"}, []),
            *causes,
        ],
    )


def test_rule_that_fires_for_no_fault_is_found(tmp_path):
    with pytest.raises(AssertionError, match="no worker at all"):
        check_rules(tmp_path, [rule_test("no worker at all", {"symposia_workers": "0x90"}, [])])
