"""The report as one HTML file without scripts and external resources; text from agents and files is escaped.

`page.html.jinja` is the page and `page.css` its style. Jinja escapes every value except the style and the policy.

Each finding is an element with a class for each of its values (severity, status, reviewer, path, rule), and
each heading has the classes of all findings of its group. An option of a filter hides the elements without
its class; grouping by rule or severity sets the order of the elements. So the page needs no script.

Classes of paths, reviewers and rules are numbered, and the style sheet, which is the same for all reports,
knows a limited number of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files
from typing import NamedTuple

from jinja2 import Template

from ...models.severity import Severity
from ...models.text.html_page import content_policy_of, page_environment
from ..values.findings import Finding
from ..values.runs import ReviewRun
from .report_model import (
    STATUSES,
    ReportModel,
    excerpt_lines,
    finding_details,
    line_link_of,
    more_suffix,
    replacement_diff,
    verification_text,
)

#: Maximum number of paths, rules and reviewers with a class of their own.
MAX_PATHS = 200
MAX_RULES = 200
MAX_REVIEWERS = 50
#: Maximum number of findings that are shown open; in longer reports each is one line until it is opened.
MAX_OPEN = 20
_STATUS_CLASSES = {status: f"s-{'none' if status is None else status.value}" for status in STATUSES}


class Heading(NamedTuple):
    """Heading of a group."""

    #: `file`, `rule` or `severity`.
    kind: str
    text: str
    size: int
    classes: str


class Option(NamedTuple):
    """Option of a filter: its class, and its text."""

    name: str
    text: str


@dataclass(frozen=True)
class Facets:
    """Classes, headings and options of a report."""

    report: ReportModel

    @property
    def paths(self) -> Sequence[Option]:
        """Return the paths that can be chosen, the one with the most severe finding first."""
        return [Option(name, path) for path, name in self._paths.items() if name]

    @property
    def reviewers(self) -> Sequence[Option]:
        """Return the reviewers that can be chosen."""
        return [Option(name, reviewer) for reviewer, name in self._reviewers.items() if name]

    @property
    def severities(self) -> Sequence[Option]:
        """Return the severities of the findings, most severe first."""
        present = {finding.severity for finding in self._findings}
        return [
            Option(f"at-{severity.value}", severity.value)
            for severity in reversed(Severity)
            if severity in present
        ]

    @property
    def statuses(self) -> Sequence[Option]:
        """Return the statuses of the findings."""
        present = {finding.status for finding in self._findings}
        return [Option(_STATUS_CLASSES[status], STATUSES[status]) for status in STATUSES if status in present]

    @property
    def group_headings(self) -> Iterator[Heading]:
        """Yield the headings of the groups by severity and by rule."""
        for severity in reversed(Severity):
            findings = [finding for finding in self._findings if finding.severity is severity]
            if findings:
                yield self._heading("severity", severity.value, findings)
        for name in dict.fromkeys(self._rules.values()):
            findings = [finding for finding in self._findings if self._rules[finding.rule] == name]
            text = "Other rules" if name == _OTHER_RULES else findings[0].rule
            yield self._heading("rule", text, findings, only=name)

    def file_heading(self, path: str, findings: Sequence[Finding]) -> Heading:
        """Return the heading of a file."""
        return self._heading("file", path, findings)

    @property
    def is_short(self) -> bool:
        """Return whether all findings are shown open."""
        return len(self._findings) <= MAX_OPEN

    def anchor(self, finding: Finding) -> str:
        """Return the id of a finding in the page: the same in later reports, with a number for equal findings."""
        return self._anchors[id(finding)]

    def classes(self, finding: Finding) -> str:
        """Return the classes of a finding."""
        return " ".join(self._classes(finding))

    @cached_property
    def _findings(self) -> Sequence[Finding]:
        return [finding for _, findings in self.report.open_by_path for finding in findings]

    @cached_property
    def _anchors(self) -> Mapping[int, str]:
        anchors: dict[int, str] = {}
        seen = Counter[str]()
        for finding in self._findings:
            name = finding.fingerprint[:12]
            seen[name] += 1
            anchors[id(finding)] = f"f-{name}" if seen[name] == 1 else f"f-{name}-{seen[name]}"
        return anchors

    @cached_property
    def _paths(self) -> Mapping[str, str]:
        return _numbered((path for path, _ in self.report.open_by_path), "p", MAX_PATHS)

    @cached_property
    def _reviewers(self) -> Mapping[str, str]:
        return _numbered(
            (agent for finding in self._findings for agent in finding.agents), "w", MAX_REVIEWERS
        )

    @cached_property
    def _rules(self) -> Mapping[str, str]:
        worst = sorted(self._findings, key=lambda finding: (-finding.severity.rank, finding.rule))
        named = _numbered((finding.rule for finding in worst), "r", MAX_RULES)
        return {rule: name or _OTHER_RULES for rule, name in named.items()}

    def _classes(self, finding: Finding) -> Iterator[str]:
        yield finding.severity.value
        yield _STATUS_CLASSES[finding.status]
        named = [self._paths[finding.path], self._rules[finding.rule]]
        yield from filter(None, (*named, *(self._reviewers[agent] for agent in finding.agents)))

    def _heading(self, kind: str, text: str, findings: Sequence[Finding], *, only: str = "") -> Heading:
        """Return a heading; `only`: its class among those of rules, which decides its place."""
        rules = set(self._rules.values()) - {only} if only else set[str]()
        names = dict.fromkeys(
            name for finding in findings for name in self._classes(finding) if name not in rules
        )
        return Heading(kind, text, len(findings), " ".join(names))


_OTHER_RULES = "r-other"


def _numbered(values: Iterable[str], letter: str, limit: int) -> dict[str, str]:
    """Return a class for each of the first values, and an empty one for the others."""
    return {
        value: f"{letter}{number}" if number < limit else ""
        for number, value in enumerate(dict.fromkeys(values))
    }


def facet_rules() -> str:
    """Return the style rules of the filters and groups."""
    return "\n".join(_rules())


def _rules() -> Iterator[str]:
    severities = [severity.value for severity in reversed(Severity)]
    for number, severity in enumerate(severities, 1):
        at_least = ", ".join(f".{value}" for value in severities[:number])
        yield _hide(f"at-{severity}", at_least)
        yield f".page:has(.by-severity:checked) .list > .{severity} {{ order: {number}; }}"
    for name in _STATUS_CLASSES.values():
        yield _hide(f"pick-{name}", f".{name}")
    for letter, limit in (("p", MAX_PATHS), ("w", MAX_REVIEWERS)):
        for number in range(limit):
            yield _hide(f"pick-{letter}{number}", f".{letter}{number}")
    for number in range(MAX_RULES):
        yield f".page:has(.by-rule:checked) .r{number} {{ order: {number}; }}"
    yield f".page:has(.by-rule:checked) .{_OTHER_RULES} {{ order: {MAX_RULES}; }}"


def _hide(option: str, kept: str) -> str:
    return f".page:has(.{option}:checked) .list > :not({kept}) {{ display: none; }}"


def to_html(run: ReviewRun) -> str:
    """Return the report of a run."""
    report = ReportModel(run)
    return _template().render(report=report, facets=Facets(report))


@cache
def content_policy() -> str:
    """Return the content security policy of reports: the browser applies only the style of the report."""
    return content_policy_of(_style())


@cache
def _template() -> Template:
    template_globals = {
        # It applies even if the page contains injected content.
        "policy": content_policy(),
        "style": _style(),
        "details": finding_details,
        "more": more_suffix,
        "link_of": line_link_of,
        "excerpt": excerpt_lines,
        "diff": replacement_diff,
        "verified": verification_text,
    }
    return page_environment().from_string(_read("page.html.jinja"), globals=template_globals)


@cache
def _style() -> str:
    """Return the style of every report, so that the policy is the same for all."""
    return _read("page.css") + facet_rules()


def _read(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")
