"""Progress that `symposia review` prints without a terminal."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from io import StringIO

import pytest
from rich.console import Console

from symposia.cli.reviews.run_review import ReviewProgress
from symposia.reviews.state.records import BatchView

VIEW = BatchView(
    batch_id="b",
    state="running",
    total=4,
    waiting=1,
    running=1,
    done=2,
    failed=0,
    unchanged=0,
    cancelled=0,
    spent_tokens=600,
    spent_cost_micros=20_000,
    started_ms=0,
    ended_ms=None,
    reason="",
)


def printed(*, as_json: bool, every_s: float) -> str:
    output = StringIO()
    with ReviewProgress(
        Console(file=output, width=40), verbose=False, as_json=as_json, every_s=every_s
    ) as shown:
        shown.show_progress(VIEW)
        shown.show_progress(VIEW)
    return output.getvalue()


def test_progress_lines_have_cost_and_estimate() -> None:
    lines = printed(as_json=False, every_s=0).splitlines()
    assert len(lines) == 2
    assert re.fullmatch(
        r"Reviewed 2 of 4, about .+ left, 1 running, 600 tokens \(about 600 more\), \$0\.02 \(about \$0\.02 more\)\.",
        lines[0],
    )


def test_progress_lines_are_json_events() -> None:
    events = [json.loads(line) for line in printed(as_json=True, every_s=0).splitlines()]
    assert [(it["event"], it["settled"], it["rest_tokens"]) for it in events] == [("progress", 2, 600)] * 2


def test_progress_lines_have_a_minimum_interval() -> None:
    assert printed(as_json=False, every_s=3_600) == ""


@pytest.mark.parametrize(("width", "shown"), [(80, "123 of 1,000, about "), (40, "123 of 1,000")])
def test_bar_is_one_line_with_the_number_of_items_first(width: int, shown: str) -> None:
    terminal = Console(file=StringIO(), width=width, force_terminal=True, record=True)
    view = replace(VIEW, total=1_000, done=120, waiting=800, running=80, failed=3)
    with ReviewProgress(terminal, verbose=False) as progress:
        progress.show_progress(view)
    frames = re.split("[\u2800-\u28ff]", terminal.export_text())  # each begins with the sign of the spinner
    bar = frames[-1].rstrip("\n")
    assert shown in bar
    assert len(bar) < width
