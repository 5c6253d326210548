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

from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import Field, ValidationError

from ...models.errors import InvalidInput, RegistryError, first_problem, invalid_input
from ...models.sessions.options import AgentName
from ...models.text.nearest import nearest_names
from ...models.text.paths import TomlFileError, may_be_planted, read_toml
from ...models.text.redact import ABSENT
from ...models.turns.waiting import GuardTime, WaitPolicy
from ..entry_base import CallablePath, ModuleName, Window
from ..guards.entries import GUARD_KINDS, GuardedEntry, GuardEntry
from ..guards.names import check_guard_names
from ..llm.entries import TOOL_NAME, LLMEntry, ModelTables
from ..llm.factory import LOCAL_MODEL
from ..programs.agent import CommandEntry
from ..remote.entry import ExternalEntry, Webhooks
from ..scripted import AtEnd, ScriptedReply
from ..sessions import SessionEntry, SessionFiles
from .session_files import check_nesting, read_session_files


class PythonEntry(GuardedEntry):
    """`[agents.NAME] kind = "python"`: a Python callable."""

    kind: Literal["python"]
    #: `module:name` of a sync or async callable.
    callable: CallablePath
    window: Window = 100


class ScriptedEntry(GuardedEntry):
    """`[agents.NAME] kind = "scripted"`: a script. A binding's parameter `replies` takes precedence."""

    kind: Literal["scripted"]
    replies: tuple[ScriptedReply, ...] = Field(default=(), max_length=10_000)
    at_end: AtEnd = AtEnd.REPEAT
    #: Maximum number of messages in its context. None: as many as the replies need.
    window: Window | None = None


class HumanEntry(GuardedEntry, WaitPolicy):
    """`[agents.NAME] kind = "human"`: a person, who answers later. A binding's `wait` takes precedence."""

    kind: Literal["human"]
    #: Maximum number of messages shown to a substitute.
    window: Window = 100


AgentEntry = Annotated[
    LLMEntry | PythonEntry | ScriptedEntry | CommandEntry | HumanEntry | ExternalEntry | SessionEntry,
    Field(discriminator="kind"),
]


class AgentsFile(ModelTables):
    """Content of an agents file."""

    #: Modules that mark agents in their code.
    modules: tuple[ModuleName, ...] = Field(default=(), max_length=1_000)
    webhooks: Webhooks = Webhooks()
    #: Checks before and after turns, which agents name.
    guards: dict[AgentName, GuardEntry] = Field(default_factory=dict)
    agents: dict[AgentName, AgentEntry] = Field(default_factory=dict)


#: Maximum bytes of the file: scripted agents may have many replies.
_MAX_BYTES = 16 * 1024 * 1024
_KINDS = ("llm", "python", "scripted", "command", "human", "external", "session")


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
        read_session_files(path, data, session_files)
        file = AgentsFile.model_validate(data)
    except TomlFileError as error:
        raise RegistryError(str(path), entry="", field="", rule=error.rule) from None
    except ValidationError as error:
        raise _broken_rule(path, error) from None
    for name in file.tools.keys() & file.mcp.keys():
        raise RegistryError(
            str(path), entry=f"mcp.{name}", field="", rule="must not have the same name as a tool"
        )
    for name, entry in file.agents.items():
        _check_guards(path, name, entry, file)
        if isinstance(entry, LLMEntry):
            _check_names(path, name, entry, file)
        elif isinstance(entry, ExternalEntry):
            _check_host(path, name, entry, file.webhooks)
    if session_files is not None:
        check_nesting(path, file.agents, max_depth=session_files.max_depth)
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


def _check_names(path: Path, name: str, entry: LLMEntry, file: AgentsFile) -> None:
    """Raise RegistryError for an unknown model or tool."""
    sessions = {name for name, it in file.agents.items() if isinstance(it, SessionEntry)}
    models, tools = {*file.models, LOCAL_MODEL}, {*file.tools, *file.mcp, *sessions}
    named = [("model", entry.model), *((f"fallback[{at}]", model) for at, model in enumerate(entry.fallback))]
    for field, model in named:
        if model not in models and ":" not in model:
            near = nearest_names(model, models)
            rule = f"must be a [models] table ({near}) or provider:model (got {model!r})"
            raise RegistryError(str(path), entry=f"agents.{name}", field=field, rule=rule)
    for at, tool in enumerate(entry.tools):
        if tool in sessions and not TOOL_NAME.fullmatch(tool):
            rule = f"must be a session whose name is 1 to 40 letters, digits or underscores (got {tool!r})"
            raise RegistryError(str(path), entry=f"agents.{name}", field=f"tools[{at}]", rule=rule)
        if tool not in tools:
            near = nearest_names(tool, tools) or "none exist"
            rule = f"must be a [tools] or [mcp] table, or an agent of kind session ({near}; got {tool!r})"
            raise RegistryError(str(path), entry=f"agents.{name}", field=f"tools[{at}]", rule=rule)


def _check_guards(path: Path, name: str, entry: AgentEntry, file: AgentsFile) -> None:
    """Raise RegistryError for an unknown guard, or one that could not check the answers of the agent."""
    check_guard_names(str(path), name, entry.guards, known=file.guards)
    for at, guard in enumerate(entry.guards):
        is_deferred = isinstance(entry, HumanEntry | ExternalEntry | SessionEntry)
        if is_deferred and file.guards[guard].when is GuardTime.AFTER:
            rule = (
                f'must have `when = "before"`: answers of kind {entry.kind} are not checked (got {guard!r})'
            )
            raise RegistryError(str(path), entry=f"agents.{name}", field=f"guards[{at}]", rule=rule)


def _check_host(path: Path, name: str, entry: ExternalEntry, webhooks: Webhooks) -> None:
    host = urlsplit(entry.url).hostname or ""
    if not webhooks.allows(host):
        rule = f"must be on a host allowed by [webhooks] hosts: {', '.join(webhooks.hosts)} (got {host!r})"
        raise RegistryError(str(path), entry=f"agents.{name}", field="url", rule=rule)
