"""Usage of several participants as a table."""

from __future__ import annotations

from html import escape
from typing import Any

from ..rows import Rows
from .turn import Usage


class UsageTable(dict[str, Usage], Rows):
    """Usage by participant id."""

    def to_rows(self) -> list[dict[str, Any]]:
        """Return a row for each participant, with the fields of `Usage`, `tokens` and `cost_usd`."""
        return [
            {"participant": name, **usage.to_json_data(), "cost_usd": usage.cost_usd}
            for name, usage in self.items()
        ]

    def _repr_html_(self) -> str:
        """Return the usage of each participant and the sum as HTML, for notebooks."""
        whole = {**self, "sum": sum(self.values(), Usage())}
        return f"<table><thead>{_HEAD}</thead><tbody>{''.join(_row(*item) for item in whole.items())}</tbody></table>"


_HEAD = "<tr><th></th><th>requests</th><th>input tokens</th><th>from cache</th><th>output tokens</th><th>US dollars</th></tr>"


def _row(name: str, usage: Usage) -> str:
    cached = f"{usage.cached_share:.0%}"
    cells = (usage.requests, usage.input_tokens, cached, usage.output_tokens, f"{usage.cost_usd:.4f}")
    return f"<tr><th>{escape(name)}</th>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"
