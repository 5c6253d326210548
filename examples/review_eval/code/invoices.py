"""Invoices, sorted and filtered by columns that the caller chooses."""

ORDERS = {
    "date": "SELECT id, total FROM invoices WHERE customer = ? ORDER BY date LIMIT ?",
    "total": "SELECT id, total FROM invoices WHERE customer = ? ORDER BY total LIMIT ?",
}


def invoices_of(connection, customer, order, limit):
    if order not in ORDERS:
        raise ValueError(f"order: must be one of {', '.join(ORDERS)}, not {order!r}")
    return connection.execute(ORDERS[order], (customer, limit)).fetchall()


def add_invoices(connection, rows):
    with connection:
        connection.executemany("INSERT INTO invoices (customer, total) VALUES (?, ?)", rows)
