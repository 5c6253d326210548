"""Labels of parcels."""


def label(order):
    a = order.address
    return a.name + "\n" + a.street + "\n" + a.city
