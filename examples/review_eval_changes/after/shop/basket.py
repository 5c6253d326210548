"""Baskets of customers."""

from shop.stock import available


def can_add(basket, item, count):
    """Return whether a basket can take more pieces of an item."""
    return available(item, reserved=basket.count_of(item)) >= count
