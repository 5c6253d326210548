"""The alert rules and the dashboard in deploy/monitoring: their format, and the metrics that they name."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from monitoring.promql import evaluate, selectors
from monitoring.scraping import Scrape
from programs import find_program
from symposia.models.metrics import AGE, COUNTED, GAUGES, Metric

FOLDER = Path(__file__).parents[3] / "deploy" / "monitoring"
METRICS = (*COUNTED, *GAUGES, AGE)
#: The format of a file of alert rules, from Prometheus' documentation: "Defining recording rules".
RULES = {
    "type": "object",
    "required": ["groups"],
    "additionalProperties": False,
    "properties": {
        "groups": {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "required": ["name", "rules"],
                "additionalProperties": False,
                "properties": {
                    "name": {"type": "string"},
                    "interval": {"$ref": "#/$defs/duration"},
                    "rules": {"type": "array", "items": {"$ref": "#/$defs/alert"}},
                },
            },
        }
    },
    "$defs": {
        "duration": {"type": "string", "pattern": r"^(\d+(ms|[smhdwy]))+$"},
        "texts": {"type": "object", "additionalProperties": {"type": "string", "minLength": 1}},
        "alert": {
            "type": "object",
            "required": ["alert", "expr", "labels", "annotations"],
            "additionalProperties": False,
            "properties": {
                "alert": {"type": "string", "pattern": "^[A-Za-z_][A-Za-z0-9_]*$"},
                "expr": {"type": "string", "minLength": 1},
                "for": {"$ref": "#/$defs/duration"},
                "keep_firing_for": {"$ref": "#/$defs/duration"},
                "labels": {"$ref": "#/$defs/texts"},
                "annotations": {"$ref": "#/$defs/texts"},
            },
        },
    },
}


def rules() -> dict[str, Any]:
    return yaml.safe_load((FOLDER / "alerts.yml").read_text())


def dashboard() -> dict[str, Any]:
    return json.loads((FOLDER / "dashboard.json").read_text())


def expressions() -> Iterator[tuple[str, str]]:
    for rule in rules()["groups"][0]["rules"]:
        yield rule["alert"], rule["expr"]
    for panel in dashboard()["panels"]:
        for target in panel.get("targets", ()):
            yield panel["title"], target["expr"]


def exported(metric: Metric) -> dict[str, set[str]]:
    """Names of the samples of a metric, with their labels."""
    if metric.kind != "histogram":
        return {metric.name: set(metric.labels)}
    labels = set(metric.labels)
    return {
        f"{metric.name}_bucket": labels | {"le"},
        **{f"{metric.name}_{it}": labels for it in ("sum", "count")},
    }


SAMPLES = {name: labels for metric in METRICS for name, labels in exported(metric).items()}
#: Prometheus adds it to every scrape.
SAMPLES["up"] = {"job", "instance"}


def test_the_rules_have_the_format_of_prometheus():
    jsonschema.validate(rules(), RULES)
    names = [rule["alert"] for rule in rules()["groups"][0]["rules"]]
    assert len(set(names)) == len(names)
    for rule in rules()["groups"][0]["rules"]:
        assert rule["labels"]["severity"] in ("critical", "warning")
        assert {"summary", "description"} <= rule["annotations"].keys()


def test_promtool_accepts_the_rules():
    promtool = find_program("promtool")
    subprocess.run([promtool, "check", "rules", str(FOLDER / "alerts.yml")], check=True, capture_output=True)


@pytest.mark.parametrize(("title", "expression"), list(expressions()))
def test_expression_uses_exported_metrics_and_labels(title, expression):
    found = selectors(expression)
    assert found, title
    for selector in found:
        assert selector.name in SAMPLES, title
        assert {label for label, _, _ in selector.matchers} <= SAMPLES[selector.name], title
    grouped = {name for names in re.findall(r"by \(([^)]*)\)", expression) for name in names.split(", ")}
    assert grouped <= set.union(*(SAMPLES[it.name] for it in found)), title


def test_the_dashboard_shows_every_metric():
    shown = {
        selector.name
        for panel in dashboard()["panels"]
        for it in panel.get("targets", ())
        for selector in selectors(it["expr"])
    }
    assert [metric.name for metric in METRICS if shown.isdisjoint(exported(metric))] == []


def test_dashboard_works_with_any_data_source():
    board = dashboard()
    assert (board["uid"], board["title"]) == ("symposia", "Symposia")
    (variable,) = board["templating"]["list"]
    assert (variable["name"], variable["type"], variable["query"]) == (
        "datasource",
        "datasource",
        "prometheus",
    )
    ids = [panel["id"] for panel in board["panels"]]
    assert len(set(ids)) == len(ids)
    taken: set[tuple[int, int]] = set()
    for panel in board["panels"]:
        grid = panel["gridPos"]
        cells = {(grid["x"] + x, grid["y"] + y) for x in range(grid["w"]) for y in range(grid["h"])}
        assert taken.isdisjoint(cells), panel["title"]
        assert grid["x"] + grid["w"] <= 24
        taken |= cells
        if panel["type"] != "row":
            assert {it["datasource"]["uid"] for it in (panel, *panel["targets"])} == {"${datasource}"}


def test_the_evaluator_computes_as_prometheus_does():
    def scrape(*lines: str) -> Scrape:
        return Scrape.parse("\n".join(("# TYPE a counter", *lines)) + "\n")

    scrapes = [
        (0.0, scrape('a_total{x="1",y="p"} 5', 'a_total{x="2",y="p"} 1')),
        (60.0, scrape('a_total{x="1",y="p"} 8', 'a_total{x="2",y="p"} 2')),
        (120.0, scrape('a_total{x="1",y="p"} 2', 'a_total{x="2",y="p"} 4')),
    ]
    ones = {frozenset({("x", "1")}): 5.0, frozenset({("x", "2")}): 3.0}
    assert evaluate("max by (x) (increase(a_total[10m]))", scrapes) == ones
    assert evaluate('sum(increase(a_total{x=~"1|3"}[10m])) > 4', scrapes) == {frozenset(): 5.0}
    assert evaluate("sum(rate(a_total[1m])) * 60", scrapes) == {frozenset(): 4.0}
    assert evaluate("sum(a_total) == 6 and sum(a_total) > 9", scrapes) == {}
    assert evaluate("absent(b_total) or sum(a_total)", scrapes) == {frozenset(): 1.0}
    assert evaluate("min(a_total) / sum(a_total) < 0.5", scrapes) == {frozenset(): 2 / 6}
