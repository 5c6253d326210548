"""Methods of a client for evaluations."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..config.settings import read_variable
from ..models.errors import InvalidInput
from .sessions import SessionMethods

if TYPE_CHECKING:
    from ..evaluation.cases_file import CasesFile
    from ..evaluation.results import EvaluationResult
    from ..evaluation.runner import EvaluationProgress


class EvaluationMethods(SessionMethods):
    """The methods of a client that run evaluations, and those for sessions."""

    def evaluate(
        self,
        cases: str | Path | Mapping[str, Any],
        *,
        name: str | None = None,
        on_progress: Callable[[EvaluationProgress], None] | None = None,
    ) -> EvaluationResult:
        """Run an evaluation, and wait for its end. Its programs run in this process's folder and user.

        No run runs twice: the same evaluation again reads the sessions that exist, and submits those that are
        missing.

        Args:
            cases: Path of a cases file, or a table of its fields. Files that a table names are relative to the
                working folder.
            name: Name of the evaluation. Under another name, all runs run again. Default: as in the file.
            on_progress: Called after each run.

        Returns:
            The scores of each run and the figures of each variant.

        Raises:
            InvalidInput: One line with field, value and rule; nothing was submitted.
            ArchiveUnavailable: A session is not live, and the archive does not answer.
            RedisUnavailable: Redis does not answer. The same evaluation again continues.
            WaitInTurn: It is called in the turn of an agent.
        """
        from ..evaluation.cases_file import CasesFile

        if not isinstance(cases, str | Path | Mapping):
            raise InvalidInput("cases", cases, "must be the path of a cases file, or a table of its fields")
        root = self.settings.session_root
        if isinstance(cases, Mapping):
            found = CasesFile.of_data(cases, root=root)
        else:
            found = CasesFile.open(str(cases), root=root)
        if name is not None:
            found = found.renamed(name)
        found.check(
            known_agents=self._parts.sessions.workers.known_agents(),
            max_message_bytes=self.settings.max_message_bytes,
        )
        found.check_messages(max_message_bytes=self.settings.max_message_bytes)
        return self._run_evaluation(found, on_progress=on_progress or (lambda _: None))

    def _run_evaluation(
        self,
        cases: CasesFile,
        *,
        on_progress: Callable[[EvaluationProgress], None],
        between: Callable[[], None] = lambda: None,
    ) -> EvaluationResult:
        from ..evaluation.runner import EvaluationRunner, EvaluationSessions
        from ..evaluation.scoring import ProgramScorer

        sessions = self._parts.sessions
        return EvaluationRunner(
            cases.evaluation,
            EvaluationSessions(get=sessions.get, submit=sessions.submit, restore=self.restore),
            ProgramScorer(cases.folder, read_variable),
            on_progress=on_progress,
            between=between,
        ).run()


def run_cases(
    client: EvaluationMethods,
    cases: CasesFile,
    *,
    on_progress: Callable[[EvaluationProgress], None],
    between: Callable[[], None],
) -> EvaluationResult:
    """Run an evaluation whose sessions were checked.

    Args:
        client: The client.
        cases: The evaluation.
        on_progress: Called after each run.
        between: Called about every second, and after each run.
    """
    return client._run_evaluation(cases, on_progress=on_progress, between=between)  # noqa: SLF001 - the only access
