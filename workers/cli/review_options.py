"""Options that all commands have that start a review."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class Format(StrEnum):
    """Reports, by the names the models have for them."""

    MARKDOWN = "markdown"
    HTML = "html"
    SARIF = "sarif"
    JUNIT = "junit"
    JSONL = "jsonl"
    ALIGNMENT = "alignment"
    ALL = "all"


class FailOn(StrEnum):
    """How much a finding must matter to fail, by the names the models have."""

    INFO = "info"
    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    CRITICAL = "critical"
    NEVER = "never"


Formats = Annotated[
    list[Format] | None,
    typer.Option("--format", help="Write this report; may be repeated. One alone is printed."),
]
Output = Annotated[Path | None, typer.Option("--output", "-o", help="The folder the reports are written to.")]
Fails = Annotated[
    FailOn, typer.Option("--fail-on", help="Exit with 1 when a finding matters as much as this, or more.")
]
Model = Annotated[
    str | None,
    typer.Option(help="The agent in the panel's seats for a model, such as local; none: no model."),
]
Everything = Annotated[
    bool, typer.Option("--all", help="Also what has not changed since this panel reviewed it last.")
]
MaxTokens = Annotated[int | None, typer.Option(min=1, help="Tokens that all of it may cost.")]
MaxUsd = Annotated[float | None, typer.Option(min=1e-6, help="US dollars that all of it may cost.")]
Parallel = Annotated[int | None, typer.Option(min=1, max=64, help="Items reviewed side by side.")]
KnownFindings = Annotated[
    Path | None,
    typer.Option("--baseline", help="Findings that are known, and fail nothing: a file of --write-baseline."),
]
WriteBaseline = Annotated[
    Path | None, typer.Option("--write-baseline", help="Write what is found now as known to this file.")
]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Show what the worker logs.")]
