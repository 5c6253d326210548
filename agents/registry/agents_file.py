"""Reader of agents files; an error names the file, table, field and rule."""

from __future__ import annotations

import tomllib
from difflib import get_close_matches
from pathlib import Path
from urllib.parse import urlsplit

from pydantic import ValidationError

from ...models.errors import InvalidInput, RegistryError, invalid_input
from ...models.text.redact import ABSENT
from ..llm.entries import LLMEntry
from ..llm.factory import LOCAL_MODEL
from ..remote.entry import ExternalEntry, Webhooks
from .entries import AgentsFile

_KINDS = ("llm", "python", "scripted", "command", "human", "external")


def read_agents_file(path: Path) -> AgentsFile:
    """The file's entries. Raises RegistryError."""
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
        file = AgentsFile.model_validate(data)
    except OSError as error:
        raise RegistryError(str(path), entry="", field="", rule=f"cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise RegistryError(str(path), entry="", field="", rule=f"must be valid TOML: {error}") from None
    except ValidationError as error:
        raise _broken_rule(path, error) from None
    for name in file.tools.keys() & file.mcp.keys():
        raise RegistryError(
            str(path), entry=f"mcp.{name}", field="", rule="must not have the same name as a tool"
        )
    for name, entry in file.agents.items():
        if isinstance(entry, LLMEntry):
            _check_names(path, name, entry, file)
        elif isinstance(entry, ExternalEntry):
            _check_host(path, name, entry, file.webhooks)
    return file


def _broken_rule(path: Path, error: ValidationError) -> RegistryError:
    first = error.errors(include_url=False)[0]
    table, rest = [str(part) for part in first["loc"][:2]], first["loc"][2:]
    if rest and rest[0] in _KINDS:  # the tag of the union is no field
        rest = rest[1:]
    problem = invalid_input(error)
    field = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in rest).lstrip(".")
    shown = InvalidInput(field, problem.value, problem.rule)
    if first["type"] in ("union_tag_invalid", "union_tag_not_found"):
        field = "kind"
        shown = InvalidInput(field, first["ctx"].get("tag", ABSENT), f"must be one of {', '.join(_KINDS)}")
    return RegistryError(
        str(path), entry=".".join(table), field=field, rule=str(shown).removeprefix(f"{field}: ")
    )


def _check_names(path: Path, name: str, entry: LLMEntry, file: AgentsFile) -> None:
    """Raise RegistryError for an unknown model or tool."""
    models, tools = {*file.models, LOCAL_MODEL}, {*file.tools, *file.mcp}
    named = [("model", entry.model), *((f"fallback[{at}]", model) for at, model in enumerate(entry.fallback))]
    for field, model in named:
        if model not in models and ":" not in model:
            near = _near(model, models)
            rule = f"must be a [models] table ({near}) or provider:model (got {model!r})"
            raise RegistryError(str(path), entry=f"agents.{name}", field=field, rule=rule)
    for at, tool in enumerate(entry.tools):
        if tool not in tools:
            near = _near(tool, tools) or "none exist"
            rule = f"must be a [tools] or [mcp] table ({near}; got {tool!r})"
            raise RegistryError(str(path), entry=f"agents.{name}", field=f"tools[{at}]", rule=rule)


def _check_host(path: Path, name: str, entry: ExternalEntry, webhooks: Webhooks) -> None:
    host = urlsplit(entry.url).hostname or ""
    if not webhooks.allows(host):
        rule = f"must be on a host allowed by [webhooks] hosts: {', '.join(webhooks.hosts)} (got {host!r})"
        raise RegistryError(str(path), entry=f"agents.{name}", field="url", rule=rule)


def _near(name: str, known: set[str]) -> str:
    return ", ".join(get_close_matches(name, known, n=3) or sorted(known))
