"""The report as JUnit XML, which CI systems show like tests: an item is a suite, a finding a test that failed.

Source: the schema of Apache Ant's JUnit reports, as Jenkins and GitLab read it.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from html import escape

from ...models.review.findings import Finding, FindingStatus
from ...models.review.runs import ItemResult, ItemState, ReviewRun
from .outline import told

#: What XML 1.0 has no way to write.
_UNWRITABLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def to_junit(run: ReviewRun) -> str:
    """The report of a run."""
    found: dict[str, list[Finding]] = defaultdict(list)
    for finding in run.findings:
        if finding.status != FindingStatus.GONE:
            found[finding.path].append(finding)
    suites = [_suite(it, found[it.item.path]) for it in run.results]
    suites += [_skipped(it.path, it.reason) for it in run.skipped]
    name = f"{run.panel} on {run.root_name}"
    return "\n".join(
        [
            '<?xml version="1.0" encoding="UTF-8"?>',
            f"<testsuites{_written(name=name)}>",
            *suites,
            "</testsuites>\n",
        ]
    )


def _suite(result: ItemResult, found: list[Finding]) -> str:
    path = result.item.path
    failures = sum(it.is_open for it in found)
    is_failed = result.state is ItemState.FAILED
    is_skipped = result.state in (ItemState.CANCELLED, ItemState.WAITING, ItemState.RUNNING)
    counts = {
        "tests": len(found) + (not found or is_failed or is_skipped),
        "failures": failures,
        "errors": int(is_failed),
        "skipped": len(found) - failures + is_skipped,
    }
    said = f"<system-out>{_text(result.summary)}</system-out>\n" if result.summary else ""
    return f"<testsuite{_written(name=path, **counts)}>\n{''.join(_cases(result, found))}{said}</testsuite>"


def _cases(result: ItemResult, found: list[Finding]) -> Iterator[str]:
    path = result.item.path
    for finding in found:
        yield _case(path, f"{finding.rule} at {finding.place}", _outcome(finding))
    if result.state is ItemState.FAILED:
        yield _case(path, "review", f"<error{_written(message=result.error or 'failed')}/>")
    elif result.state in (ItemState.CANCELLED, ItemState.WAITING, ItemState.RUNNING):
        yield _case(path, "review", f"<skipped{_written(message=result.state.value)}/>")
    elif not found:
        yield _case(path, "review", "")


def _outcome(finding: Finding) -> str:
    if not finding.is_open:
        return f"<skipped{_written(message='the baseline knows it')}/>"
    lines = (finding.message, told(finding), finding.suggestion)
    words = _text("\n".join(filter(None, lines)))
    return f"<failure{_written(message=finding.message, type=finding.severity.value)}>{words}</failure>"


def _skipped(path: str, reason: str) -> str:
    case = _case(path, "review", f"<skipped{_written(message=reason)}/>")
    return f"<testsuite{_written(name=path, tests=1, failures=0, errors=0, skipped=1)}>\n{case}</testsuite>"


def _case(path: str, name: str, inside: str) -> str:
    return f"<testcase{_written(classname=path, name=name)}>{inside}</testcase>\n"


def _written(**attributes: str | int) -> str:
    return "".join(f' {name}="{_attribute(str(value))}"' for name, value in attributes.items())


def _attribute(said: str) -> str:
    return _text(said).replace("\n", "&#10;").replace("\t", "&#9;").replace("\r", "&#13;")


def _text(said: str) -> str:
    return escape(_UNWRITABLE.sub("\ufffd", said))
