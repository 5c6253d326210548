"""Orders of a shop in SQLite."""

import sqlite3

COLUMNS = ("id", "customer", "total")


def open_orders(path):
    connection = sqlite3.connect(path)
    connection.row_factory = sqlite3.Row
    return connection


def orders_of(connection, customer):
    query = f"SELECT id, customer, total FROM orders WHERE customer = '{customer}'"
    return [dict(row) for row in connection.execute(query)]


def sorted_orders(connection, column, limit):
    rows = connection.execute("SELECT id, customer, total FROM orders ORDER BY " + column + " LIMIT ?", (limit,))
    return [dict(row) for row in rows]


def add_order(connection, customer, total):
    with connection:
        cursor = connection.execute("INSERT INTO orders (customer, total) VALUES (?, ?)", (customer, total))
    return cursor.lastrowid
