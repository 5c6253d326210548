"""Runs of ruff and bandit over many files at once, when a batch is started: a process per file would take most of the time.

The session of an item gets the output for its file, and its agents return it. Without an output, they run the program.
"""

from __future__ import annotations

import json
import logging
from collections import defaultdict
from collections.abc import Container, Iterable, Mapping, Sequence

from pydantic import JsonValue

from ...models.turns.turn import BATCHED_PROGRAMS
from ..chunks.planner import PlannedSession
from ..reviewers.code import review_files
from ..reviewers.workspace import is_safe_path
from ..values.panels import Panel
from ..values.runs import ItemKind, PartReaders, ReadItem
from ..values.tool_settings import ToolSettings

log = logging.getLogger(__name__)

#: Maximum characters of the outputs for a file; longer ones are not sent with its session.
MAX_OUTPUT = 32_768

#: Outputs by path of the file and agent.
Outputs = dict[str, dict[str, str]]


def run_programs(
    reads: Iterable[ReadItem], panel: Panel, settings: ToolSettings, *, built_in: Container[str]
) -> Outputs:
    """Return the outputs of the programs for files; files without an output are left out.

    `built_in`: agents that no agents file replaces: others are not run here.
    """
    outputs: Outputs = defaultdict(dict)
    for agent in BATCHED_PROGRAMS:
        if agent not in built_in:
            continue
        files = {
            read.item.typed_path: read.text
            for read in reads
            if read.item.kind is not ItemKind.DELETED and is_safe_path(read.item.typed_path)
            if any(tool.agent == agent for tool in panel.tools_for(read.item.typed_path))
        }
        for paths, table in _groups(agent, files, settings):
            try:
                found = review_files(agent, {path: files[path] for path in paths}, table)
            except (
                RuntimeError,
                OSError,
            ) as error:  # the sessions run the program, and report the error of their item
                log.info("%s cannot review %d files together: %s", agent, len(paths), error)
                continue
            for path, text in found.items():
                outputs[path][agent] = text
    return {path: texts for path, texts in outputs.items() if sum(map(len, texts.values())) <= MAX_OUTPUT}


def outputs_of(session: PlannedSession, outputs: Outputs) -> str:
    """Return the outputs for a session as JSON; empty: it has none, or shows its programs a part of the file only."""
    item = session.item
    is_whole = item.part is None or item.part.readers is PartReaders.PROGRAMS
    own = outputs.get(item.typed_path) if is_whole else None
    return json.dumps(own) if own else ""


def _groups(
    agent: str, files: Mapping[str, str], settings: ToolSettings
) -> list[tuple[Sequence[str], dict[str, JsonValue]]]:
    """Return the paths that one run reviews, with its settings: bandit has one table for all files of a run."""
    groups: dict[str, list[str]] = defaultdict(list)
    tables: dict[str, dict[str, JsonValue]] = {}
    for path, text in files.items():
        own = settings.for_path(path, text) if settings.is_used else {}
        key = json.dumps(own.get("bandit")) if agent == "bandit" else ""
        groups[key].append(path)
        tables[key] = _join(tables.get(key, {}), own)
    return [(paths, tables[key]) for key, paths in groups.items()]


def _join(table: Mapping[str, JsonValue], other: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Return the settings of both: their tables and modules together."""
    joined = dict(table)
    for name, value in other.items():
        before = joined.get(name)
        if isinstance(before, dict) and isinstance(value, dict):
            joined[name] = {**before, **value}
        elif isinstance(before, list) and isinstance(value, list):
            joined[name] = list(dict.fromkeys([*map(str, before), *map(str, value)]))
        else:
            joined[name] = value
    return joined
