"""Findings, items and runs to test with."""

from __future__ import annotations

import hashlib
from typing import Any

from hypothesis import strategies as st

from symposia.models.severity import Severity
from symposia.models.text.ids import new_id, utcnow
from symposia.reviews.values.findings import Finding
from symposia.reviews.values.runs import Item, ItemKind, ItemResult, ItemState, ReviewRun, RunState


def a_finding(**changes: Any) -> Finding:
    line = changes.pop("line", 3)
    values: dict[str, Any] = {
        "path": "app.py",
        "start_line": line,
        "end_line": line,
        "rule": "F401",
        "severity": Severity.MEDIUM,
        "message": "`os` imported but unused",
        "agents": ("ruff",),
    }
    return Finding(**values | changes)


def an_item(path: str = "app.py", text: str = "import os\n", **changes: Any) -> Item:
    values: dict[str, Any] = {
        "key": path,
        "kind": ItemKind.FILE,
        "path": path,
        "sha256": hashlib.sha256(text.encode()).hexdigest(),
        "size": len(text.encode()),
    }
    return Item(**values | changes)


def a_result(*findings: Finding, path: str = "app.py", **changes: Any) -> ItemResult:
    item = changes.pop("item", None) or an_item(path)
    return ItemResult(**{"item": item, "state": ItemState.DONE, "findings": findings} | changes)


def a_run(*results: ItemResult, **changes: Any) -> ReviewRun:
    values: dict[str, Any] = {
        "id": new_id(),
        "root_name": "shop",
        "panel": "code",
        "panel_sha": "p1",
        "started_at": utcnow(),
        "ended_at": utcnow(),
        "state": RunState.COMPLETED,
        "results": results,
    }
    return ReviewRun(**values | changes)


PLAIN = st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=40).filter(str.strip)


@st.composite
def findings(draw: st.DrawFn) -> Finding:
    start = draw(st.integers(0, 12))
    return a_finding(
        path=draw(st.sampled_from(["a.py", "b/c.py"])),
        start_line=start,
        end_line=start + draw(st.integers(0, 3)),
        rule=draw(st.sampled_from(["S105", "B105", "F401", "remark"])),
        severity=draw(st.sampled_from(list(Severity))),
        message=draw(
            st.sampled_from(["a key in the code", "The key is in the code!", "x is unused", "y"]) | PLAIN
        ),
        agents=(draw(st.sampled_from(["ruff", "bandit", "model"])),),
        confidence=draw(st.sampled_from([0.3, 0.6, 1.0])),
        unverified=draw(st.booleans()),
    )
