"""The table of metrics in docs/monitoring.md lists exactly what is exported."""

from __future__ import annotations

import re
from pathlib import Path

from symposia.models.metrics import AGE, COUNTED, GAUGES

PAGE = Path(__file__).parents[3] / "docs" / "monitoring.md"
ROW = re.compile(r"^\| `(symposia_\w+)` \| (\w+) \| ([^|]*)\|", re.MULTILINE)


def test_the_table_lists_all_metrics_with_their_labels():
    documented = {
        name: (kind, tuple(re.findall(r"`(\w+)`", labels)))
        for name, kind, labels in ROW.findall(PAGE.read_text())
    }
    assert documented == {it.name: (it.kind, it.labels) for it in (*COUNTED, *GAUGES, AGE)}


def test_names_follow_the_conventions_of_prometheus():
    for metric in (*COUNTED, *GAUGES, AGE):
        assert metric.name.endswith("_total") == (metric.kind == "counter")
        assert bool(metric.buckets) == (metric.kind == "histogram")
        assert metric.help.endswith(".")
