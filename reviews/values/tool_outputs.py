"""Readers of what analysis programs print: SARIF, and the JSON of ESLint and ShellCheck. Pure.

Each returns findings in the form of `answers`. Severities are those of the program: a SARIF
`security-severity` decides before a `level`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeGuard

#: A finding in the form of `answers`.
Entry = dict[str, Any]

_SARIF_LEVELS = {"error": "high", "warning": "medium", "note": "low", "none": "info"}
#: Least `security-severity` of a severity, as code hosts read it.
_SECURITY = ((9.0, "critical"), (7.0, "high"), (4.0, "medium"), (0.1, "low"))
_SHELLCHECK_LEVELS = {"error": "high", "warning": "medium", "info": "low", "style": "info"}
_ESLINT_LEVELS = {"1": "low", "2": "medium"}


def read_tool_output(data: object) -> list[Entry] | None:
    """Return the findings of a program's output (parsed JSON); None: its format is not known."""
    if isinstance(data, Mapping):
        if isinstance(data.get("runs"), list):
            return list(_sarif(data["runs"]))
        comments = data.get("comments")
        # Without problems ShellCheck prints an empty list of comments.
        return list(_shellcheck(comments)) if _are_with(comments, "level", "code") else None
    if not isinstance(data, list) or not data:
        return None
    if _are_with(data, "filePath", "messages"):
        return list(_eslint(data))
    return list(_shellcheck(data)) if _are_with(data, "level", "code", "message") else None


def _are_with(data: object, *keys: str) -> TypeGuard[list[dict[str, Any]]]:
    """Return whether it is a list of objects with these keys."""
    return isinstance(data, list) and all(
        isinstance(entry, dict) and entry.keys() >= {*keys} for entry in data
    )


def _shellcheck(comments: Iterable[Mapping[str, Any]]) -> Iterator[Entry]:
    for comment in comments:
        code = comment["code"]
        yield {
            **_lines(
                comment.get("line"), comment.get("endLine"), comment.get("column"), comment.get("endColumn")
            ),
            "rule": f"SC{code}" if isinstance(code, int) else str(code),
            "severity": _SHELLCHECK_LEVELS.get(str(comment["level"]), "medium"),
            "message": comment.get("message"),
            "confidence": 1.0,
        }


def _eslint(files: Iterable[Mapping[str, Any]]) -> Iterator[Entry]:
    for entry in (message for file in files for message in _objects(file["messages"])):
        is_fatal = entry.get("fatal") is True
        yield {
            **_lines(entry.get("line"), entry.get("endLine"), entry.get("column"), entry.get("endColumn")),
            "rule": entry.get("ruleId") or ("syntax" if is_fatal else "eslint"),
            "severity": "high" if is_fatal else _ESLINT_LEVELS.get(str(entry.get("severity")), "medium"),
            "message": entry.get("message"),
            "confidence": 1.0,
        }


def _sarif(runs: Iterable[Any]) -> Iterator[Entry]:
    for run in _objects(runs):
        rules = _objects(_object(_object(run.get("tool")).get("driver")).get("rules"))
        for result in _objects(run.get("results")):
            if result.get("suppressions") or result.get("baselineState") == "absent":
                continue
            yield _sarif_result(result, rules)


def _sarif_result(result: Mapping[str, Any], rules: Sequence[Mapping[str, Any]]) -> Entry:
    name, rule = _sarif_rule(result, rules)
    location = next(iter(_objects(result.get("locations"))), {})
    region = _object(_object(location.get("physicalLocation")).get("region"))
    fix = next(iter(_objects(result.get("fixes"))), {})
    columns = (region.get("startColumn"), region.get("endColumn"))
    return {
        **_lines(region.get("startLine"), region.get("endLine"), *columns),
        "rule": name,
        "severity": _sarif_severity(result, rule),
        "message": _sarif_message(result, rule),
        "why": _text(rule.get("fullDescription")),
        "suggestion": _text(fix.get("description")) or _text(rule.get("help")),
        "confidence": 1.0,
    }


def _sarif_rule(
    result: Mapping[str, Any], rules: Sequence[Mapping[str, Any]]
) -> tuple[str, Mapping[str, Any]]:
    """Return the id and the description of a result's rule."""
    reference = _object(result.get("rule"))
    name = result.get("ruleId") or reference.get("id")
    index = result.get("ruleIndex", reference.get("index"))
    if isinstance(index, int) and 0 <= index < len(rules):
        rule = rules[index]
        return str(name or rule.get("id") or ""), rule
    # `RULE/part` refers to RULE.
    rules_by_id = {str(entry.get("id")): entry for entry in rules}
    return str(name or ""), rules_by_id.get(str(name), rules_by_id.get(str(name).partition("/")[0], {}))


def _sarif_severity(result: Mapping[str, Any], rule: Mapping[str, Any]) -> str:
    for holder in (result, rule):
        try:
            score = float(_object(holder.get("properties"))["security-severity"])
        except (KeyError, TypeError, ValueError):
            continue
        return next((name for least, name in _SECURITY if score >= least), "info")
    default = _object(rule.get("defaultConfiguration")).get("level", "warning")
    return _SARIF_LEVELS.get(str(result.get("level", default)), "medium")


def _sarif_message(result: Mapping[str, Any], rule: Mapping[str, Any]) -> str:
    message = _object(result.get("message"))
    named = _object(_object(rule.get("messageStrings")).get(str(message.get("id"))))
    text = _text(message) or _text(named) or _text(rule.get("shortDescription"))
    arguments = message.get("arguments")
    for number, value in enumerate(arguments if isinstance(arguments, list) else ()):
        text = text.replace(f"{{{number}}}", str(value))
    return text


def _text(message: object) -> str:
    """Return the text of a `message` or `multiformatMessageString` of SARIF."""
    text = _object(message).get("text")
    return text if isinstance(text, str) else ""


def _lines(start: object, end: object, start_column: object, end_column: object) -> Entry:
    names = ("line", "end_line", "start_column", "end_column")
    values = zip(names, (start, end, start_column, end_column), strict=True)
    return {name: value for name, value in values if isinstance(value, int) and value > 0}


def _object(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _objects(value: object) -> list[Mapping[str, Any]]:
    return [entry for entry in value if isinstance(entry, Mapping)] if isinstance(value, list) else []
