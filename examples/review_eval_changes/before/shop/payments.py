"""Payments by card."""

import logging

from shop.gateway import GatewayError, charge

log = logging.getLogger(__name__)


def pay(order, card):
    try:
        receipt = charge(card, order.total)
    except GatewayError as error:
        log.error("payment of order %s failed: %s", order.id, error)
        order.mark_unpaid()
        raise
    order.mark_paid(receipt)
    return receipt
