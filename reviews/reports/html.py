"""The report as one HTML file without external resources; text from agents and files is escaped.

`page.html.jinja` is the page, `page.css` its style and `page.js` its search, the only script that the policy of the page
admits. Jinja escapes every value except these and the policy.

Each finding is an element with a class for each of its values (severity, status, reviewer, path, rule), and
each heading has the classes of all findings of its group. An option of a filter hides the elements without
its class; grouping by rule or severity sets the order of the elements. So only the search needs the script.

Classes of paths, reviewers and rules are numbered, and the style sheet, which is the same for all reports,
knows a limited number of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from jinja2 import Template

from ...models.severity import Severity
from ...models.text.html_page import content_policy_of, page_environment
from ..values.findings import Finding, count_by_severity
from ..values.runs import ReviewRun
from . import advice, report_model
from .report_model import STATUSES, ReportModel

#: Maximum number of paths, rules and reviewers with a class of their own.
MAX_PATHS = 200
MAX_RULES = 200
MAX_REVIEWERS = 50
#: Maximum number of findings that are shown open; in longer reports each is one line until it is opened.
MAX_OPEN = 20
_STATUS_CLASSES = {status: f"s-{'none' if status is None else status.value}" for status in STATUSES}


class Option(NamedTuple):
    """Option of a filter: its class, its text, and the number of its findings."""

    name: str
    text: str
    size: int


class Group(NamedTuple):
    """Heading of the findings of a file, a rule or a severity."""

    #: `file`, `rule` or `severity`.
    kind: str
    text: str
    classes: str
    findings: Sequence[Finding]

    @property
    def counts(self) -> Mapping[str, int]:
        """Number of findings by severity."""
        return count_by_severity(self.findings)


class Facets:
    """Classes, groups and options of a report."""

    def __init__(self, report: ReportModel) -> None:
        self._by_path = report.open_by_path
        self._findings = [finding for _, findings in self._by_path for finding in findings]
        self._paths = _numbered((path for path, _ in self._by_path), "p", MAX_PATHS)
        agents = (agent for finding in self._findings for agent in finding.agents)
        self._reviewers = _numbered(agents, "w", MAX_REVIEWERS)
        worst = sorted(self._findings, key=lambda finding: (-finding.severity.rank, finding.rule))
        rules = _numbered((finding.rule for finding in worst), "r", MAX_RULES)
        self._rules = {rule: name or _OTHER_RULES for rule, name in rules.items()}
        self._anchors = {
            id(finding): f"f-{finding.fingerprint[:12]}" + (f"-{number}" if number > 1 else "")
            for finding, number in report_model.number_findings(self._findings)
        }

    @property
    def filters(self) -> Mapping[str, Sequence[Option]]:
        """Options of each filter, by its title; the path with the most severe finding comes first."""
        statuses = {name: STATUSES[status] for status, name in _STATUS_CLASSES.items()}
        named = {"Status": statuses, "Reviewer": _invert(self._reviewers), "Path": _invert(self._paths)}
        counts = Counter(name for finding in self._findings for name in self._classes(finding))
        options = {
            title: [
                Option(f"pick-{name}", text, counts[name]) for name, text in texts.items() if counts[name]
            ]
            for title, texts in named.items()
        }
        return {"Severity": list(self._severities(counts)), **options}

    @property
    def files(self) -> Iterator[Group]:
        """Yield the files with their findings."""
        for path, findings in self._by_path:
            yield self._group("file", path, findings)

    @property
    def other_groups(self) -> Iterator[Group]:
        """Yield the groups by severity and by rule."""
        for severity in reversed(Severity):
            findings = [finding for finding in self._findings if finding.severity is severity]
            if findings:
                yield self._group("severity", severity.value, findings)
        for name in dict.fromkeys(self._rules.values()):
            findings = [finding for finding in self._findings if self._rules[finding.rule] == name]
            text = "Other rules" if name == _OTHER_RULES else findings[0].rule
            yield self._group("rule", text, findings)

    @property
    def is_short(self) -> bool:
        """Whether all findings are shown open."""
        return len(self._findings) <= MAX_OPEN

    def anchor(self, finding: Finding) -> str:
        """Return the id of a finding in the page: the same in later reports, with a number for equal findings."""
        return self._anchors[id(finding)]

    def classes(self, finding: Finding) -> str:
        """Return the classes of a finding."""
        return " ".join(self._classes(finding))

    def _severities(self, counts: Mapping[str, int]) -> Iterator[Option]:
        """Yield the severities of the findings, most severe first, each with the more severe ones."""
        total = 0
        for severity in reversed(Severity):
            if counts[severity.value]:
                more = " or higher" if total else ""
                total += counts[severity.value]
                yield Option(f"at-{severity.value}", f"{severity.value}{more}", total)

    def _classes(self, finding: Finding) -> Iterator[str]:
        yield finding.severity.value
        yield _STATUS_CLASSES[finding.status]
        named = [self._paths[finding.path], self._rules[finding.rule]]
        yield from filter(None, (*named, *(self._reviewers[agent] for agent in finding.agents)))

    def _group(self, kind: str, text: str, findings: Sequence[Finding]) -> Group:
        """Return a group, with the classes of all its findings."""
        names = dict.fromkeys(name for finding in findings for name in self._classes(finding))
        return Group(kind, text, " ".join(names), findings)


def _invert(names: Mapping[str, str]) -> dict[str, str]:
    """Return the texts of classes; those without a class are left out."""
    return {name: text for text, name in names.items() if name}


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
        yield f".page:has(.by-severity:checked) .list .{severity} {{ order: {number}; }}"
    for name in _STATUS_CLASSES.values():
        yield _hide(f"pick-{name}", f".{name}")
    for letter, limit in (("p", MAX_PATHS), ("w", MAX_REVIEWERS)):
        for number in range(limit):
            yield _hide(f"pick-{letter}{number}", f".{letter}{number}")
    for number in range(MAX_RULES):
        yield f".page:has(.by-rule:checked) .r{number} {{ order: {number}; }}"
    yield f".page:has(.by-rule:checked) .{_OTHER_RULES} {{ order: {MAX_RULES}; }}"


def _hide(option: str, kept: str) -> str:
    parts = ":is(.file, .group, .finding)"
    return f".page:has(.{option}:checked) .list {parts}:not({kept}) {{ display: none; }}"


def to_html(run: ReviewRun) -> str:
    """Return the report of a run."""
    report = ReportModel(run)
    return _template().render(report=report, facets=Facets(report))


@cache
def content_policy() -> str:
    """Return the content security policy of reports: the browser uses only their own style and script."""
    return content_policy_of(_style(), _read("page.js"))


@cache
def _template() -> Template:
    template_globals = {
        # It applies even if the page contains injected content.
        "policy": content_policy(),
        "style": _style(),
        "script": _read("page.js"),
        "advice": advice,
        "content": report_model,
    }
    return page_environment().from_string(_read("page.html.jinja"), globals=template_globals)


@cache
def _style() -> str:
    """Return the style of every report, so that the policy is the same for all."""
    return _read("page.css") + facet_rules()


@cache
def _read(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")
