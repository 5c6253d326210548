"""Orders of customers."""

from shop.store import load_order, remove_order


def delete_order(user, order_id):
    order = load_order(order_id)
    remove_order(order.id)


def total(order):
    return sum(line.price * line.count for line in order.lines)
