"""Output of `symposia review --dry-run`: a table of items with sessions, tokens and cost."""

from __future__ import annotations

from rich.table import Table

from ...models.text.words import count_of
from ...reviews.batches.estimate import ItemEstimate, ReviewEstimate
from ..common.screen import console, print_json, printable


def print_estimate(estimate: ReviewEstimate, *, as_json: bool) -> None:
    """Print the estimate as a table, or as JSON."""
    if as_json:
        print_json(_to_json(estimate))
        return
    table = Table("item", box=None)
    for name in ("chunks", "sessions", "tokens", "US$"):
        table.add_column(name, justify="right")
    for it in estimate.items:
        table.add_row(printable(it.path), *_cells(it))
    screen = console()
    screen.print(table)
    for skipped in estimate.skipped:
        screen.print(printable(f"{skipped.path}: skipped: {skipped.reason}"), style="dim", markup=False)
    screen.print(printable(_total(estimate)), markup=False)


def _cells(item: ItemEstimate) -> tuple[str, str, str, str]:
    if item.is_unchanged:
        return "unchanged", "0", "0", _dollars(0)
    return str(item.chunks), str(item.sessions), f"{item.tokens:,}", _dollars(item.cost_micros)


def _dollars(micros: int | None) -> str:
    return "not known" if micros is None else f"{micros / 1e6:.4f}"


def _total(estimate: ReviewEstimate) -> str:
    limits = estimate.panel.batch
    cost = estimate.cost_micros
    price = "cost not known: the registry has no price of the model"
    if cost is not None:
        price = f"about US$ {cost / 1e6:.4f}"
    sessions = f"{count_of(len(estimate.items), 'item')}, {count_of(estimate.sessions, 'session')}"
    lines = [f"{sessions}, about {count_of(estimate.tokens, 'token', spec=',')}, {price}."]
    if limits.max_tokens is not None and estimate.tokens > limits.max_tokens:
        lines.append(
            f"This is more than the limit of {limits.max_tokens:,} tokens: the review would be partial."
        )
    if limits.max_cost_micros is not None and cost is not None and cost > limits.max_cost_micros:
        lines.append(f"This is more than the limit of US$ {limits.max_usd:g}: the review would be partial.")
    return " ".join(lines)


def _to_json(estimate: ReviewEstimate) -> dict[str, object]:
    return {
        "panel": estimate.panel.name,
        "sessions": estimate.sessions,
        "tokens": estimate.tokens,
        "cost_micros": estimate.cost_micros,
        "items": [
            {
                "path": it.path,
                "state": "unchanged" if it.is_unchanged else "waiting",
                "chunks": it.chunks,
                "sessions": it.sessions,
                "tokens": it.tokens,
                "cost_micros": it.cost_micros,
            }
            for it in estimate.items
        ],
        "skipped": [it.model_dump(mode="json") for it in estimate.skipped],
    }
