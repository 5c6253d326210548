"""Results of an evaluation: scores of each run, and mean, spread, cost and time of each variant."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from importlib.resources import files
from statistics import fmean, stdev
from typing import Any

from pydantic import JsonValue

from ..models.rows import Rows
from ..models.turns.turn import Usage


@dataclass(frozen=True, slots=True)
class ScoreResult:
    """What one scorer said about one run."""

    scorer: str
    #: 0 to 1; None: the scorer failed.
    score: float | None
    #: Why, or the error of the scorer.
    reason: str = ""
    #: What the judge spent.
    usage: Usage = Usage()  # noqa: RUF009 - frozen


class RunState(StrEnum):
    """State of a run."""

    COMPLETED = "completed"
    #: The session was cancelled or aborted; its score is 0.
    FAILED = "failed"
    #: Not submitted, because a limit of the evaluation was reached.
    NOT_RUN = "not_run"


@dataclass(frozen=True, slots=True)
class EvaluatedRun:
    """One case with one variant, run once."""

    case: str
    variant: str
    repeat: int
    session_id: str
    state: RunState
    #: Reason of the session's end.
    reason: str = ""
    #: The answer that was scored.
    answer: str = ""
    scores: tuple[ScoreResult, ...] = ()
    #: What the session spent, without judges.
    usage: Usage = Usage()  # noqa: RUF009 - frozen
    #: Seconds from the start of the session to its end.
    seconds: float = 0.0

    @property
    def score(self) -> float | None:
        """Mean of the scores; 0 for a failed session. None: the run has not run, or a scorer failed."""
        if self.state is not RunState.COMPLETED:
            return 0.0 if self.state is RunState.FAILED else None
        scores = [score.score for score in self.scores if score.score is not None]
        return fmean(scores) if scores and len(scores) == len(self.scores) else None

    @property
    def total_usage(self) -> Usage:
        """What the session and its judges spent."""
        return sum((score.usage for score in self.scores), self.usage)

    def to_json(self) -> dict[str, JsonValue]:
        """Return the run as JSON data."""
        return {
            "case": self.case,
            "variant": self.variant,
            "repeat": self.repeat,
            "session": self.session_id,
            "state": self.state.value,
            "reason": self.reason,
            "answer": self.answer,
            "score": self.score,
            "scores": [
                {
                    "scorer": score.scorer,
                    "score": score.score,
                    "reason": score.reason,
                    "tokens": score.usage.tokens,
                }
                for score in self.scores
            ],
            "usage": self.usage.to_json_data(),
            "seconds": self.seconds,
        }


@dataclass(frozen=True, slots=True)
class VariantSummary:
    """Figures of one variant."""

    variant: str
    runs: int
    failed: int
    #: Runs that were not submitted.
    not_run: int
    #: Runs without a score, because a scorer failed.
    unscored: int
    #: Mean of the scores; None: no run has one.
    score: float | None
    #: Standard deviation of the scores; None: fewer than two.
    spread: float | None
    #: Mean of each scorer, in the order of the file; failed sessions are left out.
    scorers: dict[str, float | None]
    #: What its sessions spent, without judges.
    usage: Usage
    #: What its judges spent.
    judge_usage: Usage
    #: Mean seconds of a session; None: none has run.
    seconds: float | None

    @classmethod
    def of(cls, variant: str, runs: Sequence[EvaluatedRun]) -> VariantSummary:
        """Return the figures of the runs of a variant."""
        scores = [run.score for run in runs if run.score is not None]
        has_run = [run for run in runs if run.state is not RunState.NOT_RUN]
        return cls(
            variant=variant,
            runs=len(runs),
            failed=sum(run.state is RunState.FAILED for run in runs),
            not_run=len(runs) - len(has_run),
            unscored=len(has_run) - len(scores),
            score=_mean(scores),
            spread=stdev(scores) if len(scores) > 1 else None,
            scorers=_scorer_means(runs),
            usage=sum((run.usage for run in runs), Usage()),
            judge_usage=sum((score.usage for run in runs for score in run.scores), Usage()),
            seconds=_mean([run.seconds for run in has_run]),
        )

    def to_json(self) -> dict[str, JsonValue]:
        """Return the figures as JSON data."""
        usage = {"usage": self.usage.to_json_data(), "judge_usage": self.judge_usage.to_json_data()}
        return {**asdict(self), **usage}


@dataclass(frozen=True, slots=True)
class EvaluationResult(Rows):
    """The result of an evaluation."""

    name: str
    #: All runs, in the order of the file.
    runs: tuple[EvaluatedRun, ...]
    #: Names of the variants, in the order of the file.
    variants: tuple[str, ...]

    @property
    def summaries(self) -> tuple[VariantSummary, ...]:
        """Figures of each variant, in the order of the file."""
        runs: dict[str, list[EvaluatedRun]] = {name: [] for name in self.variants}
        for run in self.runs:
            runs[run.variant].append(run)
        return tuple(VariantSummary.of(name, its) for name, its in runs.items())

    @property
    def scorers(self) -> tuple[str, ...]:
        """Names of the scorers that have scored a run, in the order of the file."""
        return tuple(dict.fromkeys(name for summary in self.summaries for name in summary.scorers))

    @property
    def is_complete(self) -> bool:
        """Whether all runs have a score."""
        return all(run.score is not None for run in self.runs)

    def reaches(self, min_score: float) -> bool:
        """Return whether all runs have a score, and the mean of each variant is at least this."""
        return self.is_complete and all((summary.score or 0.0) >= min_score for summary in self.summaries)

    def to_rows(self) -> list[dict[str, Any]]:
        """Return a row for each run: case, variant, score, the score of each scorer, tokens, cost and seconds."""
        return [
            {
                "case": run.case,
                "variant": run.variant,
                "repeat": run.repeat,
                "state": run.state.value,
                "answer": run.answer,
                "score": run.score,
                **{f"score_{score.scorer}": score.score for score in run.scores},
                "tokens": run.total_usage.tokens,
                "cost_usd": run.total_usage.cost_usd,
                "seconds": run.seconds,
            }
            for run in self.runs
        ]

    def to_json(self) -> dict[str, JsonValue]:
        """Return the result as JSON data."""
        return {
            "name": self.name,
            "variants": [summary.to_json() for summary in self.summaries],
            "runs": [run.to_json() for run in self.runs],
        }


def score_text(value: float | None) -> str:
    """Return a score, a spread or a number of seconds for a report; `-` for none."""
    return "-" if value is None else f"{value:.3f}"


def render_html(result: EvaluationResult) -> str:
    """Return the result as one HTML page, without scripts and external resources; all text is escaped."""
    # Only this output needs Jinja.
    from ..models.text.html_page import content_policy_of, page_environment

    folder = files(__package__)
    style = folder.joinpath("report.css").read_text(encoding="utf-8")
    template = page_environment().from_string(
        folder.joinpath("report.html.jinja").read_text(encoding="utf-8")
    )
    values = {"style": style, "policy": content_policy_of(style), "number": score_text}
    return template.render(values, result=result, summaries=result.summaries, scorers=result.scorers)


def _scorer_means(runs: Iterable[EvaluatedRun]) -> dict[str, float | None]:
    scores_by_scorer: dict[str, list[float]] = {}
    for run in runs:
        for score in run.scores:
            scores_by_scorer.setdefault(score.scorer, []).extend([] if score.score is None else [score.score])
    return {name: _mean(scores) for name, scores in scores_by_scorer.items()}


def _mean(values: Sequence[float]) -> float | None:
    return fmean(values) if values else None
