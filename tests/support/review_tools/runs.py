"""Review runs to report: one of each kind, and ones with hostile text in every field."""

from __future__ import annotations

from hypothesis import strategies as st

from review_tools.values import PLAIN, a_finding, a_result, a_run, findings
from symposia.models.severity import Severity
from symposia.models.turns.turn import Usage
from symposia.reviews.comparing import compare_run
from symposia.reviews.findings import baseline_of, read_baseline, with_baseline
from symposia.reviews.values.findings import Category, Excerpt, Side, Verification, VerifiedAs
from symposia.reviews.values.runs import ItemState, ReviewRun, RunState, SkippedItem

UNUSED = a_finding()
KEY = a_finding(
    line=9,
    rule="S105",
    severity=Severity.HIGH,
    message="A key in the code",
    why="Keys leak.",
    suggestion="Move\nit.",
    replacement="    key = read()",
    quote="    key = 'abc'",
    excerpt=Excerpt(first_line=8, lines=("def load():", "    key = 'abc'", "    return key")),
    verification=Verification(verdict=VerifiedAs.KEPT, agent="checker", reason="It is a real key."),
)
LONG = a_finding(line=30, rule="E501", severity=Severity.LOW, message="Line too long")
GONE = a_finding(line=77, rule="F841", message="never used")
#: What people, models and attackers write.
EVIL = (
    "<script>alert(1)</script>",
    "![x](http://evil.example/x.png)",
    "[a](javascript:alert(1)) <https://evil.example> https://evil.example www.evil.example",
    "# heading",
    "- item",
    "1. item",
    "> quoted",
    "```\nfence",
    "@everyone &lt;b&gt; <b>x</b> <!-- -->",
    "| a | b |\n|---|---|",
    '" onmouseover="x" \'',
    "]]> <![CDATA[",
    "***bold*** __bold__ ~~gone~~",
    "a\x00b\x0b\ufffe\U0001f600\u2028",
    "=====",
    "[x]: http://evil.example",
    "`code` and ``more ` code``",
    "\\[x\\](y) \\`a`b",
)
evil = (
    st.sampled_from(EVIL)
    | PLAIN
    | st.text(alphabet="`*_[]()<>#-+!|~\\\n &;:/.w1ab@\"'", min_size=1).filter(str.strip)
)


def a_reported_run() -> ReviewRun:
    """A run with one of everything."""
    run = a_run(
        a_result(UNUSED, KEY, LONG, summary="Two things.\nMend them."),
        a_result(a_finding(path="b c.py", line=0, rule="remark", agents=("model", "ruff")), path="b c.py"),
        a_result(path="c.py", state=ItemState.FAILED, error="the agent failed"),
        a_result(path="d.py", state=ItemState.UNCHANGED, dropped=2),
        a_result(path="e.py", state=ItemState.CANCELLED),
        skipped=(SkippedItem(path="big.bin", reason="binary"),),
        summary="Not bad.",
        revision="abc123",
        usage=Usage(input_tokens=5, cost_micros=1_234),
        state=RunState.PARTIAL,
    )
    return with_baseline(compare_run(run, previous=[UNUSED, GONE]), read_baseline(baseline_of([LONG])))


def excerpts(first: int) -> st.SearchStrategy[Excerpt]:
    return st.builds(
        Excerpt, first_line=st.just(first), lines=st.lists(evil, min_size=1, max_size=5).map(tuple)
    )


@st.composite
def evil_runs(draw: st.DrawFn) -> ReviewRun:
    found = [
        it.model_copy(
            update={
                "message": draw(evil),
                "rule": draw(evil),
                "suggestion": draw(evil),
                "agents": (draw(evil),),
                "why": draw(evil),
                "replacement": draw(st.none() | evil),
                "quote": draw(evil),
                "side": draw(st.sampled_from(Side)),
                "category": draw(st.none() | st.sampled_from(Category)),
                "excerpt": draw(st.none() | excerpts(max(it.start_line, 1))),
                "verification": draw(
                    st.none()
                    | st.builds(Verification, verdict=st.sampled_from(VerifiedAs), agent=evil, reason=evil)
                ),
            }
        )
        for it in draw(st.lists(findings(), max_size=3))
    ]
    path = draw(evil)
    results = [
        a_result(*[it.model_copy(update={"path": path}) for it in found], path=path, summary=draw(evil))
    ]
    results.append(a_result(path=draw(evil), state=ItemState.FAILED, error=draw(evil)))
    skipped = (SkippedItem(path=draw(evil), reason=draw(evil)),)
    return compare_run(
        a_run(*results, skipped=skipped, summary=draw(evil), root_name=draw(evil), panel=draw(evil))
    )
