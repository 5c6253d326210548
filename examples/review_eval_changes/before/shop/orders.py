"""Orders of customers."""

from shop.errors import Forbidden
from shop.store import load_order, remove_order


def delete_order(user, order_id):
    order = load_order(order_id)
    if order.owner != user.id and not user.is_admin:
        raise Forbidden(order_id)
    remove_order(order_id)


def total(order):
    return sum(line.price * line.count for line in order.lines)
