"""The report as JUnit XML, which CI systems show like tests: an item is a suite, a finding a failed test.

Source: the schema of Apache Ant's JUnit reports, as Jenkins and GitLab read it.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from io import BytesIO

from junitparser import Error, Failure, JUnitXml, Skipped, SystemOut, TestCase, TestSuite

from ..values.findings import Finding, FindingStatus
from ..values.runs import ItemResult, ItemState, ReviewRun
from ..values.skipped import NotReviewed, fold_by_reason
from .report_model import finding_details

#: Characters that XML 1.0 cannot represent. junitparser writes them as they are.
_INVALID = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def to_junit(run: ReviewRun) -> str:
    """Return the report of a run."""
    by_path: dict[str, list[Finding]] = defaultdict(list)
    for finding in run.findings:
        if finding.status != FindingStatus.GONE:
            by_path[finding.path].append(finding)
    report = JUnitXml(_clean(f"{run.panel} on {run.root_name}"))
    # Not `add_testsuite`, which merges suites of one name and takes quadratic time.
    report.extend(_suite(result, by_path[result.item.path]) for result in run.results)  # type: ignore[no-untyped-call]
    report.extend(map(_skipped, fold_by_reason(run.skipped)))  # type: ignore[no-untyped-call]
    report.update_statistics()  # type: ignore[no-untyped-call]
    output = BytesIO()
    report.write(output)
    return output.getvalue().decode() + "\n"


def _suite(result: ItemResult, findings: list[Finding]) -> TestSuite:
    suite = TestSuite(_clean(result.item.path))
    suite.extend(_cases(result, findings))  # type: ignore[no-untyped-call]
    if result.summary:
        suite.append(SystemOut(_clean(result.summary)))  # type: ignore[no-untyped-call]
    return suite


def _cases(result: ItemResult, findings: list[Finding]) -> Iterator[TestCase]:
    path = result.item.path
    for finding in findings:
        yield _case(path, f"{finding.rule} at {finding.place}", _outcome(finding))
    if result.state is ItemState.FAILED:
        yield _case(path, "review", Error(_clean(result.error or "failed")))
    elif result.state in (ItemState.CANCELLED, ItemState.WAITING, ItemState.RUNNING):
        yield _case(path, "review", Skipped(result.state.value))
    elif not findings:
        yield _case(path, "review")


def _outcome(finding: Finding) -> Failure | Skipped:
    if not finding.is_open:
        return Skipped(_clean(f"suppressed by {finding.suppressed_by}"))
    failure = Failure(_clean(finding.message), finding.severity.value)
    failure.text = _clean(
        "\n".join(filter(None, (finding.message, finding.why, finding_details(finding), finding.suggestion)))
    )
    return failure


def _skipped(entry: NotReviewed) -> TestSuite:
    """Return a suite with one skipped test for all files of a reason."""
    name = f"skipped: {entry.reason}"
    suite = TestSuite(_clean(name))
    suite.append(_case(name, "review", Skipped(_clean(str(entry)))))  # type: ignore[no-untyped-call]
    return suite


def _case(path: str, name: str, *outcomes: Error | Failure | Skipped) -> TestCase:
    case = TestCase(_clean(name), classname=_clean(path))
    case.extend(outcomes)  # type: ignore[no-untyped-call]
    return case


def _clean(text: str) -> str:
    return _INVALID.sub("\ufffd", text)
