"""Readers of strict YAML and JSON: text stays text, and every value is written explicitly.

In YAML, only values of YAML 1.2's core schema are numbers or booleans: `no`, `12:30` and
`2026-01-01` are text. A duplicate key is an error, because one of the two values would be
lost. Tags are errors, and so are aliases: a file of a few lines could expand to gigabytes.

Depth and number of values are checked before anything is built: libyaml takes quadratic time for nested
brackets, its recursion for nested nodes can crash the process, and building a value takes some microseconds.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from itertools import islice
from typing import Any, ClassVar, NoReturn

import yaml
from yaml import MappingNode, Node, SequenceNode
from yaml.constructor import ConstructorError

#: libyaml's C loader; the Python loader if PyYAML is built without it.
_Base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

#: The character before each key and value of a JSON text, or a whole string, even if it is not terminated.
_JSON_TOKEN = re.compile(r'[\[{,:]|"(?:[^"\\]++|\\.)*+"?', re.DOTALL)
#: Maximum nesting depth of mappings and lists.
MAX_DEPTH = 64
#: Maximum number of keys and values. A session of 10,000 opening messages with ten fields each has 210,000.
MAX_VALUES = 250_000


class _Loader(_Base):  # type: ignore[misc]  # either of two classes
    """A safe loader for the core schema, which refuses duplicate keys."""

    yaml_implicit_resolvers: ClassVar[dict[str, list[tuple[str, re.Pattern[str]]]]] = {}

    def construct_mapping(self, node: MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[object] = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if not isinstance(key, str):
                raise _refused(f"the key {key!r} must be text", key_node)
            if key in seen:
                raise _refused(f"duplicate key {key!r}", key_node)
            seen.add(key)
        return dict(super().construct_mapping(node, deep=deep))


for _tag, _pattern, _first in (
    ("null", r"~|null|Null|NULL|", ("~", "n", "N", "")),
    ("bool", r"true|True|TRUE|false|False|FALSE", tuple("tTfF")),
    ("int", r"[-+]?[0-9]{1,18}", tuple("-+0123456789")),
    ("float", r"[-+]?(\.[0-9]+|[0-9]+\.[0-9]*|[0-9]+(?=[eE]))([eE][-+]?[0-9]+)?", tuple("-+.0123456789")),
):
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(rf"(?:{_pattern})\Z"), list(_first))


def _finite_float(loader: Any, node: Node) -> float:
    value = float(loader.construct_scalar(node))
    if math.isinf(value):
        raise _refused("the number is too large", node)
    return value


_Loader.add_constructor("tag:yaml.org,2002:int", lambda loader, node: int(loader.construct_scalar(node)))
_Loader.add_constructor("tag:yaml.org,2002:float", lambda loader, node: float(loader.construct_scalar(node)))
_Loader.add_constructor("tag:yaml.org,2002:float", _finite_float)


class NotYaml(ValueError):
    """Error for a text that is not YAML; `line` counts from 1, and is None if the line is unknown."""

    def __init__(self, problem: str, line: int | None) -> None:
        super().__init__(problem)
        self.line = line


class OverLimit(ValueError):
    """Error for a text that is nested too deep or has too many values; `line` counts from 1, and is None if unknown."""

    def __init__(self, rule: str, line: int | None) -> None:
        super().__init__(rule)
        self.line = line


def read_yaml(text: str) -> object:
    """Return the only document of `text`.

    Raises:
        NotYaml: The text is not YAML.
        OverLimit: It has too many values or levels.
    """
    try:
        _check(text)
        return yaml.load(text, Loader=_Loader)  # noqa: S506 - a safe loader  # nosec B506
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise NotYaml(str(error.problem or error.context), mark.line + 1 if mark else None) from None
    except (yaml.YAMLError, RecursionError) as error:
        raise NotYaml(" ".join(str(error).split())[:200] or "it is nested too deeply", None) from None


def _check(text: str) -> None:
    """Refuse aliases and texts beyond the limits. Reads the stream of events, without building nodes."""
    depth = values = 0
    for event in yaml.parse(text, Loader=_Loader):
        if isinstance(event, yaml.AliasEvent):
            raise _refused("aliases are not supported", event)
        if isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        elif isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            values += 1
        elif isinstance(event, yaml.ScalarEvent):
            values += 1
        if depth > MAX_DEPTH:
            raise _over_limit(f"must not nest tables and lists deeper than {MAX_DEPTH} levels", event)
        if values > MAX_VALUES:
            raise _over_limit(f"must contain at most {MAX_VALUES:,} keys and values", event)


def _over_limit(rule: str, event: Any) -> OverLimit:
    return OverLimit(rule, event.start_mark.line + 1)


def _refused(problem: str, where: Any) -> ConstructorError:
    return ConstructorError(None, None, problem, where.start_mark)


def line_of(text: str, path: str) -> int | None:
    """Return the line on which the value at `path` begins, e.g. `participants[1].kind`.

    If the value does not exist, return the line of its nearest existing parent.
    """
    try:
        _check(text)
        node: Node | None = yaml.compose(text, Loader=_Loader)
    except (yaml.YAMLError, OverLimit, RecursionError):
        return None
    line = None
    for step in path.replace("[", ".[").strip(".").split("."):
        child = _child(node, step)
        if child is None:
            break
        node, line = child
    return line


def _child(node: Node | None, step: str) -> tuple[Node, int] | None:
    if isinstance(node, SequenceNode) and step.startswith("["):
        index = int(step[1:-1])
        return (node.value[index], node.value[index].start_mark.line + 1) if index < len(node.value) else None
    if isinstance(node, MappingNode):
        for key, value in node.value:
            if key.value == step:
                return value, key.start_mark.line + 1
    return None


def read_json(text: str) -> object:
    """Return the data of a JSON text.

    Raises:
        OverLimit: It has too many values.
        ValueError: The text is not JSON (`json.JSONDecodeError`), a key is repeated, or a number is not finite or too long.
        RecursionError: It is nested too deep.
    """
    if _has_too_many_values(text):
        raise OverLimit(f"must contain at most {MAX_VALUES:,} keys and values", None)
    return json.loads(
        text, object_pairs_hook=_without_repeats, parse_constant=_no_constant, parse_float=_finite_number
    )


def _has_too_many_values(text: str) -> bool:
    """Return whether a JSON text has more keys and values than allowed, without building them."""
    separators = (token for token in _JSON_TOKEN.finditer(text) if token[0][0] != '"')
    return next(islice(separators, MAX_VALUES, None), None) is not None


def _without_repeats(pairs: list[tuple[str, object]]) -> dict[str, object]:
    table = dict(pairs)
    if len(table) < len(pairs):
        keys = Counter(key for key, _ in pairs)
        repeated = next(key for key, count in keys.items() if count > 1)
        raise ValueError(f"duplicate key {repeated!r}")
    return table


def _finite_number(text: str) -> float:
    if math.isinf(value := float(text)):
        raise ValueError(f"the number {text[:50]} is too large")
    return value


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number")
