"""A report format beside the built-in ones, made of one value: it is rendered, written, scheduled and offered as a choice."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from review_tools.runs import a_reported_run
from symposia.cli.app import build_app
from symposia.cli.reviews.output import Reports, write_reports
from symposia.client import Client
from symposia.config.settings import Settings
from symposia.models.errors import InvalidInput
from symposia.reviews.reports import formats as registry
from symposia.reviews.reports.formats import (
    ALIGNMENT,
    HTML,
    ReportFile,
    ReportFormat,
    add_format,
    format_of,
    format_of_ending,
    formats,
    render,
    report_files,
)
from symposia.reviews.values.runs import ReviewRun


def _to_csv(run: ReviewRun) -> str:
    return "".join(f"{it.place},{it.rule}\n" for it in run.findings)


CSV = ReportFormat(name="csv", file_name="review.csv", media_type="text/csv", render=_to_csv)


@pytest.fixture(autouse=True)
def added() -> Iterator[None]:
    add_format(CSV)
    yield
    del registry._FORMATS[CSV.name]


def test_added_format_is_rendered_and_written() -> None:
    run = a_reported_run()
    assert render(run, CSV) == _to_csv(run) != ""
    assert report_files(run, [CSV]) == (ReportFile("review.csv", "text/csv", _to_csv(run)),)
    assert (formats()[-1], format_of("csv")) == (CSV, CSV)


def test_all_formats_include_the_added_one(tmp_path: Path) -> None:
    run = a_reported_run()
    for named in (["all"], []):
        folder = tmp_path / "-".join(["reports", *named])
        write_reports(run, Reports.of(named, folder), as_json=False)
        assert (folder / "review.csv").read_text() == _to_csv(run)


def test_command_line_offers_the_added_format(redis_url: str) -> None:
    environment = {"SYMPOSIA_REDIS_URL": redis_url}
    for command in (["files", "."], ["show", "0b5d7f0e"]):
        refused = CliRunner().invoke(build_app(), ["review", *command, "--format", "pdf"], env=environment)
        assert (refused.exit_code, "'csv'" in " ".join(refused.output.split())) == (2, True)
    accepted = CliRunner().invoke(
        build_app(), ["review", "show", "0b5d7f0e", "--format", "csv"], env=environment
    )
    assert "is not one of" not in accepted.output


def test_schedule_may_name_the_added_format(redis_url: str, tmp_path: Path) -> None:
    settings = Settings(redis_url=redis_url, data_dir=tmp_path, review_roots={"shop": tmp_path})
    with Client(settings) as client:
        review = {"panel": "code", "root": "shop", "formats": ["csv"]}
        assert client.schedules.add("nightly", cron="@daily", review=review).schedule.review.formats == (
            "csv",
        )
        with pytest.raises(InvalidInput, match=r"review\.formats: must be one of markdown, .*alignment, csv"):
            client.schedules.add("daily", cron="@daily", review={**review, "formats": ["pdf"]})


@pytest.mark.parametrize(
    ("wrong", "rule"),
    [
        (CSV, "'csv' is registered already"),
        (replace(CSV, name="all"), "'all' is registered already"),
        (replace(CSV, name="page", file_name=HTML.file_name), "file name 'review.html'"),
        (replace(CSV, name="none", file_name="none.txt", render=None), "either render or render_sessions"),
        (
            replace(ALIGNMENT, name="both", file_name=".both", render=_to_csv),
            "either render or render_sessions",
        ),
    ],
)
def test_invalid_format_is_refused(wrong: ReportFormat, rule: str) -> None:
    known = formats()
    with pytest.raises(ValueError, match=rule):
        add_format(wrong)
    assert formats() == known


@pytest.mark.parametrize(
    ("ending", "name"), [("md", "markdown"), ("json", "rdjson"), ("xml", "junit"), ("sarif", "sarif")]
)
def test_format_is_found_by_the_end_of_its_file_name(ending, name):
    assert format_of_ending(ending) is format_of_ending(name) is format_of(name)


def test_format_with_a_document_per_session_is_no_report():
    with pytest.raises(InvalidInput, match="must be one of"):
        format_of_ending("alignment")
