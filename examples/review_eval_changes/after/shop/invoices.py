"""Invoices of orders."""


def due_days(customer):
    return 30 if customer.is_company else 14


def lines_of(order):
    return [(line.name, line.count, line.price) for line in order.lines]
