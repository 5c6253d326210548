"""A small shop with defects, and a reviewer that finds those that a linter does not."""

from __future__ import annotations

import json

from stub_agents.review import path_of
from symposia.models.turns.turn import TurnContext

FILES = {
    "shop/orders.py": '''"""Orders of the shop."""

import sqlite3
from decimal import Decimal


def find_orders(database: sqlite3.Connection, customer: str) -> list[tuple[int, str]]:
    query = f"SELECT id, total FROM orders WHERE customer = '{customer}'"
    return database.execute(query).fetchall()


def reserve(stock: dict[str, int], article: str, count: int) -> bool:
    """Take articles from the stock, unless there are too few."""
    if stock[article] > count:
        stock[article] -= count
        return True
    return False


def total(prices: list[Decimal], discount_percent: int = 0) -> Decimal:
    return sum(prices, Decimal(0)) * (100 - discount_percent) / 100
''',
    "shop/receipts.py": '''"""Receipts of the shop."""

from decimal import Decimal


def format_line(article: str, price: Decimal) -> str:
    return f"{article:<30}{price:>10.2f}"
''',
}
FINDINGS = {
    "shop/orders.py": [
        {
            "quote": "    query = f\"SELECT id, total FROM orders WHERE customer = '{customer}'\"",
            "rule": "sql-injection",
            "severity": "high",
            "message": "The name of the customer becomes part of the SQL statement.",
            "why": "A name such as x' OR '1'='1 returns the orders of all customers.",
            "suggestion": "Pass the name as a parameter of the statement.",
            "confidence": 0.95,
        },
        {
            "quote": "    if stock[article] > count:",
            "rule": "off-by-one",
            "severity": "medium",
            "message": "The last articles can never be sold.",
            "why": "If the stock has exactly as many articles as are ordered, the order is refused.",
            "suggestion": "Compare with >=.",
            "replacement": "    if stock[article] >= count:",
            "confidence": 0.9,
        },
    ]
}


def review(turn: TurnContext) -> str:
    """Report the findings of the reviewed file, each at the line that it quotes."""
    path = path_of(turn)
    lines = FILES[path].splitlines()
    findings = [{"line": lines.index(it["quote"]) + 1, **it} for it in FINDINGS.get(path, ())]
    return json.dumps({"findings": findings, "summary": f"{len(findings)} defects."})
