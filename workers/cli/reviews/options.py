"""Options of all commands that start a review."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class Format(StrEnum):
    """Report formats, with the names of the models."""

    MARKDOWN = "markdown"
    HTML = "html"
    SARIF = "sarif"
    JUNIT = "junit"
    JSONL = "jsonl"
    ALIGNMENT = "alignment"
    ALL = "all"


class FailOn(StrEnum):
    """Severities from which on a finding fails the run, with the names of the models."""

    INFO = "info"
    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    CRITICAL = "critical"
    NEVER = "never"


Formats = Annotated[
    list[Format] | None,
    typer.Option(
        "--format",
        help="Report format; may be repeated. Without --output, only one is allowed, and the report is printed.",
    ),
]
Output = Annotated[
    Path | None,
    typer.Option("--output", "-o", help="Folder for the reports; without --format, all formats are written."),
]
FailOnOption = Annotated[
    FailOn, typer.Option("--fail-on", help="Exit with code 1 if an open finding has this severity or higher.")
]
Model = Annotated[
    str | None,
    typer.Option(
        help="Agent for the model reviewers of the panel, such as local. Without it, those without an agent in the panel are skipped."
    ),
]
Everything = Annotated[
    bool,
    typer.Option("--all", help="Also review items that have not changed since this panel reviewed them."),
]
MaxTokens = Annotated[
    int | None, typer.Option(min=1, help="Token budget of the run.", show_default="limit of the panel")
]
MaxUsd = Annotated[
    float | None,
    typer.Option(min=1e-6, help="Cost budget of the run in US dollars.", show_default="limit of the panel"),
]
Parallel = Annotated[
    int | None,
    typer.Option(
        min=1,
        max=64,
        help="Maximum number of items reviewed at the same time.",
        show_default="limit of the panel",
    ),
]
KnownFindings = Annotated[
    Path | None,
    typer.Option(
        "--baseline",
        help="File of known findings, made by --write-baseline. Known findings do not fail the run.",
    ),
]
WriteBaseline = Annotated[
    Path | None,
    typer.Option("--write-baseline", help="Write the findings of this run to this file, as known findings."),
]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Show the log of the worker.")]
