"""The causes of each alert rule, derived from its expression: every label value and branch that makes it fire."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import yaml

from symposia.models.metrics import COUNTED, GAUGES

FILE = Path(__file__).parents[3] / "deploy" / "monitoring" / "alerts.yml"
_ALTERNATIVES = re.compile(r'(\w+)=~"([^"]*)"')
_GROUPED = re.compile(r"^max by \((\w+)\) \((\w+)\)")


@dataclass(frozen=True)
class Cause:
    """One way in which a rule fires."""

    alert: str
    #: A value of a label, or a branch of the expression; empty: the rule has one cause.
    branch: str
    #: The expression, narrowed to this cause.
    expression: str

    @property
    def name(self) -> tuple[str, str]:
        return self.alert, self.branch


def expressions() -> dict[str, str]:
    groups = yaml.safe_load(FILE.read_text())["groups"]
    return {rule["alert"]: rule["expr"] for group in groups for rule in group["rules"]}


def all_causes() -> list[Cause]:
    return [
        Cause(alert, branch, narrowed)
        for alert, expression in expressions().items()
        for branch, narrowed in _branches(expression)
    ]


def _branches(expression: str) -> Iterator[tuple[str, str]]:
    operands = expression.split(" or ")
    for operand in operands:
        if found := _ALTERNATIVES.search(operand):
            for value in found[2].split("|"):
                yield value, _ALTERNATIVES.sub(rf'\1="{value}"', operand)
        elif found := _GROUPED.match(operand):
            label, metric = found.groups()
            for value in _known_values(metric, label):
                yield value, operand.replace(f"({metric})", f'({metric}{{{label}="{value}"}})')
        else:
            yield operand if len(operands) > 1 else "", operand


def _known_values(metric_name: str, label: str) -> tuple[str, ...]:
    (metric,) = [it for it in (*COUNTED, *GAUGES) if it.name == metric_name]
    return metric.known[metric.labels.index(label)]
