"""`symposia dialogue` and `symposia lint`: data, check and correction of alignment documents."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..models.text.words import count_of
from .common.options import AsJson
from .common.screen import console, print_json, printable

if TYPE_CHECKING:
    from ..alignment.document import AlignmentDialogue, LintFinding, LintSeverity
    from ..alignment.document.findings import Code

Files = Annotated[
    list[str], typer.Argument(metavar="FILE...", help="Alignment documents; - reads standard input.")
]
STANDARD_INPUT = "-"


def read_document(name: str) -> str:
    """Return the text of a file or of standard input, with unchanged line ends.

    Raises:
        InvalidInput: The file cannot be read, or is not UTF-8 text.
    """
    from ..models.errors import InvalidInput

    try:
        data = sys.stdin.buffer.read() if name == STANDARD_INPUT else Path(name).read_bytes()
        return data.decode()
    except OSError as error:
        raise InvalidInput("FILE", name, f"cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise InvalidInput("FILE", name, f"must be UTF-8 text, but byte {error.start} is invalid") from None


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    app.command()(lint)
    app.command()(dialogue)


def dialogue(
    files: Annotated[
        list[str] | None,
        typer.Argument(metavar="FILE...", help="Alignment documents; - reads standard input."),
    ] = None,
    as_json: AsJson = False,
    specification: Annotated[
        bool, typer.Option("--specification", help="Print the format of alignment documents.")
    ] = False,
) -> None:
    """Show the data of alignment documents: rounds and their experts, markers, scores, tensions.

    With --json, each file is one JSON object on one line.

    Example: [bold]symposia dialogue decision.dialogue.md --json[/bold]
    """
    from ..alignment.document import parse, specification_markdown, summary

    if specification:
        typer.echo(specification_markdown(), nl=False)
    elif not files:
        raise typer.BadParameter("FILE or --specification is required.")
    for name in files or ():
        document = parse(read_document(name))
        if as_json:
            print_json({"file": name, **summary(document)}, lines=True)
            continue
        for line in _summary_lines(name, document):
            console().print(printable(line), soft_wrap=True)


def _summary_lines(name: str, document: AlignmentDialogue) -> Iterator[str]:
    """Yield the lines that summarise the document."""
    from ..alignment.document import scoreboards, tensions

    yield f"{name}: {document.title or 'no title'}"
    for part in document.rounds:
        yield f"  Round {part.number}{': ' * bool(part.label)}{part.label}  [{', '.join(part.agents) or 'no experts'}]"
    counts = Counter(marker.type.value for marker in document.markers)
    yield "  Markers: " + (", ".join(f"{count} {kind}" for kind, count in counts.items()) or "none")
    for board in scoreboards(document):
        yield f"  Scoreboard: {count_of(len(board.rows), 'row')}, total {board.sum if board.total is None else board.total}"
    for tension in tensions(document):
        yield f"  {tension.id} {tension.state.value}: {tension.label}"


#: Maximum number of lines that a combined finding names.
_MAX_LINES = 5


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
        InvalidInput: A code does not exist.
    """
    from ..alignment.document.findings import RULES
    from ..models.errors import InvalidInput

    rule_codes = {code.value for code in RULES}
    codes = [code.strip() for value in values or () for code in value.split(",")]
    for code in filter(None, codes):
        if code not in rule_codes:
            raise InvalidInput(
                option, code, f"must be one of the finding codes: {', '.join(sorted(rule_codes))}"
            )
    return frozenset(filter(None, codes))


def count_codes(
    findings_by_file: Mapping[str, Sequence[LintFinding]],
) -> dict[tuple[LintSeverity, Code], int]:
    """Return the number of findings per severity and code: errors first, then by number."""
    counts = Counter(
        (finding.severity, finding.code) for findings in findings_by_file.values() for finding in findings
    )
    return dict(sorted(counts.items(), key=lambda pair: (pair[0][0], -pair[1], pair[0][1])))


def count_lines(findings_by_file: Mapping[str, Sequence[LintFinding]]) -> Iterator[str]:
    """Yield one line per code with its count."""
    from ..alignment.document.findings import RULES

    counts = count_codes(findings_by_file)
    width = max((len(code) for _, code in counts), default=0)
    for (severity, code), number in counts.items():
        yield f"{number:>6} {severity.value:<7} {code.value:<{width}}  {RULES[code][1]}"


def finding_lines(file: str, findings: Sequence[LintFinding]) -> Iterator[tuple[str, str]]:
    """Yield each finding with its replacement text (may be empty).

    Equal findings about format are combined.
    """
    groups: dict[object, list[LintFinding]] = {}
    for finding in findings:
        key = (finding.code, finding.severity, finding.message) if _is_combinable(finding) else id(finding)
        groups.setdefault(key, []).append(finding)
    for group in groups.values():
        first, lines = group[0], list(dict.fromkeys(str(finding.line) for finding in group))
        more = ", ..." if len(lines) > _MAX_LINES else ""
        times = f" ({len(group)} times: lines {', '.join(lines[:_MAX_LINES])}{more})"
        where = f"{file}:{first.line}:{first.column}"
        text = f"{where}: {first.severity.value}: {first.message} [{first.code.value}]"
        yield text + (times if len(group) > 1 else ""), first.fix_hint or ""


def _is_combinable(finding: LintFinding) -> bool:
    """Return True for a finding about format that can be combined.

    A wrong word or an open bracket is reported each time.
    """
    from ..alignment.document.findings import FormRule

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


def lint(
    files: Files,
    strict: Annotated[bool, typer.Option("--strict", help="Report every finding as an error.")] = False,
    fix: Annotated[
        bool, typer.Option("--fix", help="Correct the format of the files. Their content does not change.")
    ] = False,
    select: Annotated[
        list[str] | None,
        typer.Option("--select", metavar="CODE,...", help="Report and fix only these codes."),
    ] = None,
    ignore: Annotated[
        list[str] | None,
        typer.Option("--ignore", metavar="CODE,...", help="Do not report or fix these codes."),
    ] = None,
    errors_only: Annotated[bool, typer.Option("--errors-only", help="Report only errors.")] = False,
    as_json: AsJson = False,
    sarif: Annotated[bool, typer.Option("--sarif", help="Print SARIF 2.1.0, for code hosts.")] = False,
) -> None:
    """Check alignment documents: format, ids, tables and sums.

    The output starts with the number of findings per code. Equal findings about
    the format are grouped on one line. A finding includes the corrected line if
    there is one.
    Exit code 1: there are errors.

    Example: [bold]symposia lint docs/dialogues/*.md --select round-form,round-unclear[/bold]
    """
    from ..alignment.document import LintSeverity
    from ..alignment.document import lint as findings_of
    from ..models.errors import InvalidInput

    if as_json and sarif:
        raise InvalidInput("--sarif", True, "must not be used with --json: both write to standard output")
    selection = Selection(read_codes("--select", select), read_codes("--ignore", ignore), errors_only)
    texts = {name: read_document(name) for name in dict.fromkeys(files)}
    if fix:
        texts = {name: _fix_text(name, text, selection) for name, text in texts.items()}
    findings_by_file = {
        name: tuple(filter(selection.includes, findings_of(text, strict=strict)))
        for name, text in texts.items()
    }
    errors = sum(
        finding.severity is LintSeverity.ERROR
        for findings in findings_by_file.values()
        for finding in findings
    )
    if as_json or sarif:
        _print_data(findings_by_file, errors, sarif=sarif)
    else:
        _print_findings(findings_by_file, errors)
    raise typer.Exit(1 if errors else 0)


def _fix_text(name: str, text: str, selection: Selection) -> str:
    """Return the text with corrected format, and write it to its file if it changed."""
    from ..alignment.document import fix

    fixed_text = fix(text, applies=selection.has_code)
    if fixed_text != text and name != STANDARD_INPUT:
        Path(name).write_bytes(fixed_text.encode())
    return fixed_text


def _print_data(findings_by_file: dict[str, tuple[LintFinding, ...]], errors: int, *, sarif: bool) -> None:
    from importlib.metadata import version

    from ..alignment.document import to_sarif

    if sarif:
        print_json(to_sarif(findings_by_file, version=version("symposia")))
        return
    files: list[dict[str, Any]] = [
        {"file": name, "findings": [finding.to_data() for finding in findings]}
        for name, findings in findings_by_file.items()
    ]
    total = sum(map(len, findings_by_file.values()))
    counts = {code.value: number for (_, code), number in count_codes(findings_by_file).items()}
    print_json({"files": files, "errors": errors, "warnings": total - errors, "counts": counts})


def _print_findings(findings_by_file: dict[str, tuple[LintFinding, ...]], errors: int) -> None:
    screen = console()
    for line in count_lines(findings_by_file):
        screen.print(printable(line), soft_wrap=True)
    for name, findings in findings_by_file.items():
        for text, hint in finding_lines(name, findings):
            screen.print(printable(text), soft_wrap=True)
            for line in hint.split("\n") if hint else ():
                screen.print(printable(f"    {line}"), soft_wrap=True, style="green")
    total = sum(map(len, findings_by_file.values()))
    counts = f"{count_of(errors, 'error')}, {count_of(total - errors, 'warning')}"
    console(stderr=True).print(f"{count_of(len(findings_by_file), 'file')}: {counts}")
