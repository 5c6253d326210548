"""Tables and reader of the agents file. An error names the file, table, field and rule.

    modules = ["my_project.team"]        # modules that mark agents with @symposia.agent("NAME")

    [models.house]                       # an endpoint that several agents share
    model = "qwen3-8b"
    base_url = "http://localhost:8000/v1"
    api_key_env = "HOUSE_KEY"            # the variable's name, never the key

    [agents.coder]
    kind = "llm"
    model = "house"                      # or any model pydantic-ai knows: "anthropic:claude-..."
    instructions = "You write Python."

    [agents.linter]
    kind = "python"
    callable = "my_project.agents:lint"

    [agents.greeter]
    kind = "scripted"
    replies = ["Hello, {last}", { pass = true }]

Only this file names code, environment variables and URLs; a job never does.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, NoReturn

from pydantic import Field, ValidationError

from ...models.errors import InvalidInput, RegistryError, first_problem, invalid_input
from ...models.sessions.options import AgentName
from ...models.sessions.submission import Submission
from ...models.sessions.subsession_limits import TOO_DEEP
from ...models.text.paths import TomlFileError, may_be_planted, read_toml
from ...models.text.redact import ABSENT
from ...models.turns.waiting import GuardTime
from ..guards import GUARD_KINDS, GuardEntry, check_guard_names
from ..kinds.a2a import A2AEntry
from ..kinds.command import CommandEntry
from ..kinds.external import ExternalEntry
from ..kinds.human import HumanEntry
from ..kinds.python import PythonEntry
from ..kinds.scripted import ScriptedEntry
from ..kinds.session import SessionEntry, SessionFiles
from ..llm.entry import LLMEntry
from ..people import PersonEntry
from ..tables import FileTables

AgentEntry = Annotated[
    LLMEntry
    | PythonEntry
    | ScriptedEntry
    | CommandEntry
    | HumanEntry
    | ExternalEntry
    | SessionEntry
    | A2AEntry,
    Field(discriminator="kind"),
]


class AgentsFile(FileTables):
    """Content of an agents file."""

    #: Checks before and after turns, which agents name.
    guards: dict[AgentName, GuardEntry] = Field(default_factory=dict)
    agents: dict[AgentName, AgentEntry] = Field(default_factory=dict)
    #: Where people are notified of their questions.
    people: dict[AgentName, PersonEntry] = Field(default_factory=dict, max_length=10_000)

    @property
    def sessions(self) -> dict[str, str]:
        """Descriptions of the sessions that models may call, by name."""
        return {
            name: entry.tool_description
            for name, entry in self.agents.items()
            if isinstance(entry, SessionEntry)
        }


#: Maximum bytes of the file: scripted agents may have many replies.
_MAX_BYTES = 16 * 1024 * 1024
_KINDS = ("llm", "python", "scripted", "command", "human", "external", "session", "a2a")


def read_agents_file(path: Path, session_files: SessionFiles | None = None) -> AgentsFile:
    """Return the content of an agents file.

    Args:
        path: The agents file.
        session_files: How its session files are read; None: it may name none.

    Raises:
        RegistryError: The file breaks a rule; the error names file, table, field and rule.
    """
    try:
        data = read_toml(path, max_bytes=_MAX_BYTES)
        _read_session_files(path, data, session_files)
        file = AgentsFile.model_validate(data)
    except TomlFileError as error:
        raise RegistryError(str(path), entry="", field="", rule=error.rule) from None
    except ValidationError as error:
        raise _broken_rule(path, error) from None
    for name in file.tools.keys() & file.mcp.keys():
        raise RegistryError(
            str(path), entry=f"mcp.{name}", field="", rule="must not have the same name as a tool"
        )
    sessions = file.sessions
    for name, entry in file.agents.items():
        _check_guards(path, name, entry, file)
        for field, rule in entry.broken_rules(file, sessions):
            raise RegistryError(str(path), entry=f"agents.{name}", field=field, rule=rule)
    _check_people(path, file)
    if session_files is not None:
        _check_nesting(path, file.agents, max_depth=session_files.max_depth)
    return file


def check_not_planted(path: Path) -> None:
    """Check that no other user may have left a file in the working folder: it can name code to run.

    Raises:
        RegistryError: Another user may have.
    """
    if may_be_planted(path):
        rule = "must not be left by another user where all may write; if you trust it, name it with SYMPOSIA_AGENTS_FILE"
        raise RegistryError(str(path.absolute()), entry="", field="", rule=rule)


def _broken_rule(path: Path, error: ValidationError) -> RegistryError:
    first = first_problem(error)
    in_table = 0 if first["loc"][:1] == ("modules",) else 2
    table, rest = [str(part) for part in first["loc"][:in_table]], first["loc"][in_table:]
    kinds = GUARD_KINDS if table[:1] == ["guards"] else _KINDS
    if rest and rest[0] in kinds:  # pydantic adds the tag of the union, which is not a field
        rest = rest[1:]
    problem = invalid_input(error)
    field = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in rest).lstrip(".")
    shown = InvalidInput(field, None, problem.rule)
    shown.value = problem.value  # it is a repr already
    if first["type"] in ("union_tag_invalid", "union_tag_not_found"):
        field = "kind"
        shown = InvalidInput(field, first["ctx"].get("tag", ABSENT), f"must be one of {', '.join(kinds)}")
    return RegistryError(
        str(path), entry=".".join(table), field=field, rule=str(shown).removeprefix(f"{field}: ")
    )


def _check_guards(path: Path, name: str, entry: AgentEntry, file: AgentsFile) -> None:
    """Raise RegistryError for an unknown guard, or one that could not check the answers of the agent."""
    check_guard_names(str(path), name, entry.guards, known=file.guards)
    for at, guard in enumerate(entry.guards):
        if entry.is_deferred and file.guards[guard].when is GuardTime.AFTER:
            rule = (
                f'must have `when = "before"`: answers of kind {entry.kind} are not checked (got {guard!r})'
            )
            raise RegistryError(str(path), entry=f"agents.{name}", field=f"guards[{at}]", rule=rule)


def _check_people(path: Path, file: AgentsFile) -> None:
    """Raise RegistryError for an escalation to a person who is not in the table, or to the same person."""
    for name, person in file.people.items():
        to = person.escalate_to
        if to is not None and (to == name or to not in file.people):
            rule = f"must be another name of the table `people` (got {to!r})"
            raise RegistryError(str(path), entry=f"people.{name}", field="escalate_to", rule=rule)


#: Rule that is broken in a process without a reader of session files.
_NOT_READ = "cannot be used here"


def _read_session_files(path: Path, data: dict[str, Any], session_files: SessionFiles | None) -> None:
    """Put the content of each session file into its table of the parsed agents file.

    Raises:
        RegistryError: A session file breaks a rule.
    """
    tables = data.get("agents")
    for name, table in tables.items() if isinstance(tables, dict) else ():
        if not isinstance(table, dict) or table.get("kind") != "session":
            continue
        entry = f"agents.{name}"
        if "document" in table:
            raise RegistryError(
                str(path), entry=entry, field="document", rule="must not be set: name a `file`"
            )
        if not isinstance(file := table.get("file"), str):
            continue  # reported by the check of the fields
        if session_files is None:
            raise RegistryError(str(path), entry=entry, field="kind", rule=_NOT_READ)
        try:
            document = session_files.read(path.parent / file)
            Submission.of_subsession(document, file)
        except InvalidInput as error:
            raise RegistryError(str(path), entry=entry, field="file", rule=str(error)) from None
        table["document"] = document


@dataclass(frozen=True, slots=True)
class _Nesting:
    """The agents of a file, as they contain each other."""

    path: Path
    entries: Mapping[str, AgentEntry]
    sessions: Collection[str]
    max_depth: int

    def visit(self, name: str, above: tuple[str, ...]) -> None:
        """Check an agent and all that it contains; `above`: the agents that contain it, the outermost first."""
        chain = (*above, name)
        if name in above:
            self._refuse(chain, f"must not contain itself: {' -> '.join(chain[chain.index(name) :])}")
        if sum(agent_name in self.sessions for agent_name in chain) > self.max_depth:
            self._refuse(chain, f"{TOO_DEEP}: {' -> '.join(chain)}")
        if (entry := self.entries.get(name)) is not None:
            for used in entry.agents_inside(self.sessions):
                self.visit(used, chain)

    def _refuse(self, chain: tuple[str, ...], rule: str) -> NoReturn:
        raise RegistryError(str(self.path), entry=f"agents.{chain[0]}", field="file", rule=rule)


def _check_nesting(path: Path, entries: Mapping[str, AgentEntry], *, max_depth: int) -> None:
    """Check that no session contains itself, directly or through other agents, or is nested too deep.

    Raises:
        RegistryError: The first such session.
    """
    sessions = [name for name, entry in entries.items() if isinstance(entry, SessionEntry)]
    nesting = _Nesting(path, entries, sessions, max_depth)
    for name in sessions:
        nesting.visit(name, ())
