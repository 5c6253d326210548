"""The built-in agents: the local model, scripted replies, people, and the reviewers of the panels."""

from __future__ import annotations

from types import MappingProxyType

from ...models.sessions.subsessions import SESSION_AGENT
from ..kinds.command import BatchedCommandEntry, CommandEntry
from ..kinds.human import HumanEntry
from ..kinds.python import PythonEntry
from ..kinds.scripted import ScriptedEntry
from ..kinds.session import SessionEntry
from ..llm.entry import LLMEntry
from ..tables import LOCAL_MODEL
from .agents_file import AgentEntry


def _reviewer(tool: str) -> CommandEntry:
    argv = ("{python}", "-m", "symposia.agents.reviewers.code", tool)
    return BatchedCommandEntry(kind="command", argv=argv, timeout_s=60, window=20)


def _program(*argv: str) -> CommandEntry:
    runner = ("{python}", "-m", "symposia.agents.reviewers.program")
    return CommandEntry(kind="command", argv=(*runner, *argv), timeout_s=60, window=20)


#: ESLint runs without the project's configuration, which is code: with rules about certain defects.
_ESLINT_RULES = tuple(
    f"--rule={name}: error"
    for name in (
        *("no-dupe-keys", "no-dupe-args", "no-dupe-else-if", "no-duplicate-case", "no-unreachable"),
        *("no-self-assign", "no-self-compare", "no-cond-assign", "no-const-assign", "no-eval"),
        *("no-implied-eval", "no-empty", "no-fallthrough", "no-unsafe-finally", "use-isnan", "valid-typeof"),
    )
)


BUILT_IN: MappingProxyType[str, AgentEntry] = MappingProxyType(
    {
        "local": LLMEntry(kind="llm", model=LOCAL_MODEL, max_tokens=80, window=12),
        "echo": ScriptedEntry.model_validate({"kind": "scripted", "replies": ["{last}"]}),
        "noop": ScriptedEntry.model_validate({"kind": "scripted", "replies": ["ok"]}),
        "human": HumanEntry(kind="human"),
        SESSION_AGENT: SessionEntry(kind="session", file="the binding's own"),
        "ruff": _reviewer("ruff"),
        "bandit": _reviewer("bandit"),
        "inspector": _reviewer("inspector"),
        "shellcheck": _program(
            "shellcheck", "--norc", "--exclude=SC1090,SC1091", "--format=json1", "--", "{file}"
        ),
        "eslint": _program("eslint", "--no-config-lookup", "--format=json", *_ESLINT_RULES, "--", "{file}"),
        # Programs that read single files, without settings of the project and without the network.
        "oxlint": _program("oxlint", "--format=sarif", "--disable-nested-config", "{file}"),
        "revive": _program("revive", "-formatter", "sarif", "{file}"),
        "hadolint": _program("hadolint", "--no-fail", "--format=sarif", "--", "{file}"),
        "sqlfluff": _program(
            *("sqlfluff", "lint", "--ignore-local-config", "--dialect=ansi", "--rules=AM"),
            *("--format=sarif", "--", "{file}"),
        ),
        "gitleaks": _program(
            *("gitleaks", "dir", "--no-banner", "--redact", "--exit-code=0", "--report-format=sarif"),
            *("--report-path=/dev/stdout", "{file}"),
        ),
        "codespell": CommandEntry(
            kind="command",
            argv=("{python}", "-m", "symposia.agents.reviewers.spelling", "codespell"),
            timeout_s=60,
            window=20,
        ),
        "judge": PythonEntry(kind="python", callable="symposia.agents.reviewers.judge:judge"),
        "clarity": PythonEntry(kind="python", callable="symposia.agents.reviewers.documents:clarity"),
        "consistency": PythonEntry(kind="python", callable="symposia.agents.reviewers.documents:consistency"),
        "facts": PythonEntry(kind="python", callable="symposia.agents.reviewers.documents:facts"),
    }
)
