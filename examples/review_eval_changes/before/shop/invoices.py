"""Invoices of orders."""


def due_days(customer):
    if customer.is_company:
        return 30
    return 14


def lines_of(order):
    return [(line.name, line.count, line.price) for line in order.lines]
