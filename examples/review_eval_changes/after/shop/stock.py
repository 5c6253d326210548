"""Stock of the warehouse."""


def available(item, *, reserved=0):
    """Return the number of pieces that can be sold; None: the item is not in stock."""
    if not item.count:
        return None
    return max(item.count - reserved, 0)


def names(items):
    return [item.name for item in items]
