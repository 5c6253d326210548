"""Text output of `symposia lint`, and the selection of reported findings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ....models.alignment.document import LintFinding, LintSeverity
    from ....models.alignment.document.checks.findings import Code

#: Maximum number of lines that a combined finding names.
_MOST_LINES = 5


@dataclass(frozen=True, slots=True)
class Selection:
    """Codes to report: all or those of `select`, without those of `ignore`."""

    select: frozenset[str]
    ignore: frozenset[str]
    errors_only: bool = False

    def has_code(self, code: str) -> bool:
        """Return True for a code that is reported and fixed."""
        return (not self.select or code in self.select) and code not in self.ignore

    def includes(self, finding: LintFinding) -> bool:
        """Return True for a finding that is reported."""
        return self.has_code(finding.code.value) and (
            not self.errors_only or finding.severity.value == "error"
        )


def read_codes(option: str, values: Sequence[str] | None) -> frozenset[str]:
    """Return the codes of an option that may be repeated, each time with several codes.

    Raises:
        InvalidInput: a code does not exist.
    """
    from ....models.alignment.document.checks.findings import RULES
    from ....models.errors import InvalidInput

    known = {code.value for code in RULES}
    codes = [code.strip() for value in values or () for code in value.split(",")]
    for code in filter(None, codes):
        if code not in known:
            raise InvalidInput(option, code, f"must be one of the finding codes: {', '.join(sorted(known))}")
    return frozenset(filter(None, codes))


def count_codes(found: Mapping[str, Sequence[LintFinding]]) -> dict[tuple[LintSeverity, Code], int]:
    """Return the number of findings per severity and code: errors first, then by number."""
    counts = Counter((it.severity, it.code) for findings in found.values() for it in findings)
    return dict(sorted(counts.items(), key=lambda pair: (pair[0][0], -pair[1], pair[0][1])))


def count_lines(found: Mapping[str, Sequence[LintFinding]]) -> Iterator[str]:
    """Yield one line per code with its count."""
    from ....models.alignment.document.checks.findings import RULES

    counts = count_codes(found)
    width = max((len(code) for _, code in counts), default=0)
    for (severity, code), number in counts.items():
        yield f"{number:>6} {severity.value:<7} {code.value:<{width}}  {RULES[code][1]}"


def finding_lines(file: str, findings: Sequence[LintFinding]) -> Iterator[tuple[str, str]]:
    """Yield each finding with its replacement text, which may be empty; equal findings about format are combined."""
    groups: dict[object, list[LintFinding]] = {}
    for it in findings:
        key = (it.code, it.severity, it.message) if _is_combinable(it) else id(it)
        groups.setdefault(key, []).append(it)
    for group in groups.values():
        first, lines = group[0], list(dict.fromkeys(str(it.line) for it in group))
        more = ", ..." if len(lines) > _MOST_LINES else ""
        times = f" ({len(group)} times: lines {', '.join(lines[:_MOST_LINES])}{more})"
        where = f"{file}:{first.line}:{first.column}"
        text = f"{where}: {first.severity.value}: {first.message} [{first.code.value}]"
        yield text + (times if len(group) > 1 else ""), first.fix_hint or ""


def _is_combinable(finding: LintFinding) -> bool:
    """Return True for a finding about format that can be combined; a wrong word or an open bracket is reported each time."""
    from ....models.alignment.document.reading.notes import FormRule

    return finding.code in {
        FormRule.TITLE,
        FormRule.METADATA,
        FormRule.SECTION,
        FormRule.ROUND,
        FormRule.AGENT,
        FormRule.JUDGE,
        FormRule.MARKER,
        FormRule.UNDERLINED,
        FormRule.SEPARATOR,
    }
