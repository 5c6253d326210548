"""Coupons."""

from collections.abc import Iterable


def is_valid(coupon, today):
    return coupon.starts <= today <= coupon.ends


def unused(coupons: Iterable) -> list:
    return [coupon for coupon in coupons if not coupon.is_used]
