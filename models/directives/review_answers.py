"""What is wrong with the form of a reviewer's answer, so that the reviewer can give it again. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from ..text.json_text import find_json
from ..text.numbered_lines import normalise_line, without_number

#: Role of the reviewer who checks findings.
VERIFIER = "verifier"
#: List that the answer of a verifier has; others report findings.
_LISTS = {VERIFIER: "verdicts"}
_AGAIN = (
    "Your answer cannot be used: {fault}. Give the whole answer again as one JSON object, and nothing else."
)


def answer_fault(text: str, role: str | None, shown: Iterable[str]) -> str:
    """Return a note on the first fault of an answer; empty: it has none.

    Args:
        text: The answer.
        role: Role of the reviewer.
        shown: The texts that the reviewer was shown. A finding must quote a line of them.
    """
    fault = _fault(text, _LISTS.get(role or "", "findings"), shown)
    return _AGAIN.format(fault=fault) if fault else ""


def _fault(text: str, name: str, shown: Iterable[str]) -> str:
    values = [data for data, _ in find_json(text)]
    if not values:
        return f"it has no JSON object with the list {name}"
    named = (data for data in values if isinstance(data, list) or (isinstance(data, dict) and name in data))
    data = next(named, values[0])
    entries = data if isinstance(data, list) else data.get(name) if isinstance(data, dict) else None
    if not isinstance(entries, list):
        return f"it has no list {name}"
    lines = {normalise_line(line) for content in shown for line in content.split("\n")} if entries else set()
    for number, entry in enumerate(entries):
        if not isinstance(entry, dict):
            return f"{name}[{number}] is no object"
        if name != "findings":
            continue
        quote = entry.get("quote")
        if not isinstance(quote, str) or not quote.strip():
            return f"{name}[{number}].quote is missing"
        first = next(line for line in quote.split("\n") if line.strip())
        quotes = {normalise_line(first), normalise_line(without_number(first))}
        if not any(quoted in line for quoted in quotes for line in lines):
            return f"{name}[{number}].quote is not a line of the reviewed text"
    return ""
