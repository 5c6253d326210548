"""Runner of an evaluation: a limited number of runs at the same time, each of which is a session that runs once.

The id of each session follows from its content. A run whose session exists, in Redis or in the archive, is read and
not submitted again: the same evaluation again, also after its process was killed, continues where it ended.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from threading import Lock

from ..agents.execution.running import refuse_wait_in_turn
from ..jobs.collab import CollabJob
from ..jobs.result import JobResult
from ..models.errors import InvalidInput, MessageTooLarge, ResultTimeout, SessionNotFound
from ..models.sessions.submission import Submission
from ..models.text.words import count_of, dollars
from ..models.turns.turn import Usage
from .cases import Evaluation, PlannedRun
from .results import EvaluatedRun, EvaluationResult, RunState, ScoreResult
from .scorers import Scorer, ScorerKind
from .scoring import Answer, ProgramScorer, check_answer, judge_submission, read_verdict

#: Seconds between two looks at whether the evaluation is stopped.
_LOOK_EVERY_S = 1.0


@dataclass(frozen=True, slots=True)
class EvaluationSessions:
    """The sessions of an installation, as an evaluation uses them."""

    #: Returns a session, live or archived. Raises SessionNotFound.
    get: Callable[[str], CollabJob]
    #: Submits a session; the same id again is the same session.
    submit: Callable[[Submission], CollabJob]
    #: Continues an unfinished session of which only the archive has a copy.
    restore: Callable[[str], CollabJob]


@dataclass(frozen=True, slots=True)
class EvaluationProgress:
    """Progress of an evaluation."""

    runs: int
    done: int
    #: Of those that are done, runs whose sessions existed before.
    found: int
    usage: Usage

    def __str__(self) -> str:
        reused = f", {self.found} of them run before" if self.found else ""
        spent = f"{count_of(self.usage.tokens, 'token', spec=',')}, {dollars(self.usage.cost_micros)}"
        return f"{self.done} of {count_of(self.runs, 'run')}{reused}, {spent}"


class _Stopped(Exception):
    """The evaluation was stopped while a run was waiting for its session."""


@dataclass(slots=True)
class EvaluationRunner:
    """One evaluation that is running."""

    evaluation: Evaluation
    sessions: EvaluationSessions
    programs: ProgramScorer
    on_progress: Callable[[EvaluationProgress], None] = lambda _: None
    #: Called about every second, and after each run.
    between: Callable[[], None] = lambda: None
    _lock: Lock = field(default_factory=Lock)
    _usage: Usage = field(default_factory=Usage)
    _found: int = 0

    def run(self) -> EvaluationResult:
        """Run all that has not run, and return the scores of all.

        If it is interrupted, running sessions continue on the workers, and no further one is submitted.

        Raises:
            SymposiaError: A session cannot be submitted or read. The same evaluation again continues.
            WaitInTurn: It is called in the turn of an agent.
        """
        refuse_wait_in_turn(self.evaluation.name)
        planned = list(self.evaluation.runs())
        with ThreadPoolExecutor(self.evaluation.parallel, "symposia-evaluation") as pool:
            futures = [pool.submit(self._evaluate, run) for run in planned]
            try:
                self._wait_for(futures)
            except BaseException:
                self.programs.stopped.set()
                pool.shutdown(wait=False, cancel_futures=True)
                raise
        runs = tuple(future.result() for future in futures)
        return EvaluationResult(self.evaluation.name, runs, tuple(self.evaluation.variants))

    def _wait_for(self, futures: Sequence[Future[EvaluatedRun]]) -> None:
        left = set(futures)
        while left:
            done, left = wait(left, timeout=_LOOK_EVERY_S, return_when=FIRST_COMPLETED)
            for future in done:
                future.result()
            self.between()
            if done:
                with self._lock:
                    reused, usage = self._found, self._usage
                self.on_progress(EvaluationProgress(len(futures), len(futures) - len(left), reused, usage))

    def _evaluate(self, run: PlannedRun) -> EvaluatedRun:
        """Run one case with one variant, unless its session exists, and score its answer."""
        job = self._find(run.session_id)
        if job is None:
            if self._is_at_limit():
                return EvaluatedRun(
                    run.case_name, run.variant, run.repeat, run.session_id, RunState.NOT_RUN, "limit reached"
                )
            job = self.sessions.submit(run.submission())
        else:
            with self._lock:
                self._found += 1
        result = self._result(job)
        self._spend(result.usage)
        answer = _answer_of(result, self.evaluation.answer_by)
        scores = [self._score(scorer, run, answer) for scorer in self.evaluation.scorers] if result.ok else []
        return _evaluated(run, result, answer, scores)

    def _find(self, session_id: str) -> CollabJob | None:
        """Return the session if it exists; if only the archive has it and it has not ended, it is continued."""
        try:
            job = self.sessions.get(session_id)
        except SessionNotFound:
            return None
        return job if job.is_live or job.state().is_final else self.sessions.restore(session_id)

    def _result(self, job: CollabJob) -> JobResult:
        while True:
            if self.programs.stopped.is_set():
                raise _Stopped
            try:
                return job.result(_LOOK_EVERY_S)
            except ResultTimeout:
                continue

    def _score(self, scorer: Scorer, run: PlannedRun, answer: Answer) -> ScoreResult:
        match scorer.kind:
            case ScorerKind.PROGRAM:
                return self.programs.score(scorer, run, answer)
            case ScorerKind.JUDGE:
                return self._judge(scorer, run, answer)
            case _:
                return check_answer(scorer, run.case, answer)

    def _judge(self, scorer: Scorer, run: PlannedRun, answer: Answer) -> ScoreResult:
        submission = judge_submission(scorer, run, answer.text)
        try:
            job = self._find(submission.collab.collab_id) or self.sessions.submit(submission)
        except (InvalidInput, MessageTooLarge) as error:  # such as an answer that is too long for a message
            return ScoreResult(scorer.label, None, str(error))
        verdict = read_verdict(scorer, self._result(job))
        self._spend(verdict.usage)
        return verdict

    def _is_at_limit(self) -> bool:
        with self._lock:
            spent = self._usage
        return self.evaluation.limits.are_reached(tokens=spent.tokens, cost_micros=spent.cost_micros)

    def _spend(self, usage: Usage) -> None:
        with self._lock:
            self._usage += usage


def _answer_of(result: JobResult, answer_by: str | None) -> Answer:
    if answer_by is None:
        return Answer(result.text, result.output_data)
    contents = (
        message.content for message in reversed(result.dialog.messages) if message.speaker == answer_by
    )
    return Answer(next(contents, ""))


def _evaluated(
    run: PlannedRun, result: JobResult, answer: Answer, scores: Sequence[ScoreResult]
) -> EvaluatedRun:
    began, ended = result.dialog.started_at, result.dialog.ended_at
    return EvaluatedRun(
        case=run.case_name,
        variant=run.variant,
        repeat=run.repeat,
        session_id=run.session_id,
        state=RunState.COMPLETED if result.ok else RunState.FAILED,
        reason=f"{result.reason} {result.detail}".strip(),
        answer=answer.text,
        scores=tuple(scores),
        usage=result.usage,
        seconds=(ended - began).total_seconds() if began and ended else 0.0,
    )
