"""Reads an agents file; whatever breaks a rule is told with file, table, field and rule."""

from __future__ import annotations

import tomllib
from difflib import get_close_matches
from pathlib import Path

from pydantic import ValidationError

from ..models.errors import InvalidInput, RegistryError, invalid_input
from .entries import AgentsFile, LLMEntry
from .llm_seats import LOCAL_MODEL

_KINDS = ("llm", "python", "scripted", "human")


def read_agents_file(path: Path) -> AgentsFile:
    """The file's entries. Raises RegistryError."""
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
        file = AgentsFile.model_validate(data)
    except OSError as error:
        raise RegistryError(str(path), entry="", field="", rule=f"cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise RegistryError(str(path), entry="", field="", rule=f"must be TOML: {error}") from None
    except ValidationError as error:
        raise _broken_rule(path, error) from None
    _check_models(path, file)
    return file


def _broken_rule(path: Path, error: ValidationError) -> RegistryError:
    first = error.errors(include_url=False)[0]
    table, rest = [str(part) for part in first["loc"][:2]], first["loc"][2:]
    if rest and rest[0] in _KINDS:  # the tag of the union is no field
        rest = rest[1:]
    problem = invalid_input(error)
    field = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in rest).lstrip(".")
    rule = problem.rule
    if first["type"] in ("union_tag_invalid", "union_tag_not_found"):
        field, rule = "kind", f"must be one of {', '.join(_KINDS)}"
    shown = InvalidInput(field, problem.value, rule)
    return RegistryError(
        str(path), entry=".".join(table), field=field, rule=str(shown).removeprefix(f"{field}: ")
    )


def _check_models(path: Path, file: AgentsFile) -> None:
    known = {*file.models, LOCAL_MODEL}
    for name, entry in file.agents.items():
        if not isinstance(entry, LLMEntry):
            continue
        for field, model in (
            ("model", entry.model),
            *((f"fallback[{at}]", model) for at, model in enumerate(entry.fallback)),
        ):
            if model not in known and ":" not in model:
                near = get_close_matches(model, known, n=3) or sorted(known)
                rule = f"must be a [models] table ({', '.join(near)}) or provider:model (got {model!r})"
                raise RegistryError(str(path), entry=f"agents.{name}", field=field, rule=rule)
