"""Coupons."""


def is_valid(coupon, today):
    return coupon.starts <= today <= coupon.ends


def unused(coupons):
    return [coupon for coupon in coupons if not coupon.is_used]
