"""Stock of the warehouse."""


def available(item, *, reserved=0):
    """Return the number of pieces that can be sold."""
    return max(item.count - reserved, 0)


def names(items):
    return [item.name for item in items]
