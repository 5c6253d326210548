"""Labels of parcels."""


def label(order):
    """Return the text of the label of an order's parcel."""
    address = order.address
    return "\n".join((address.name, address.street, address.city))
