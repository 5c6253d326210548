"""Windows over lists."""


def windows(items, size):
    """Return all runs of `size` neighbours, the first one first."""
    if size < 1:
        raise ValueError(f"size: must be at least 1, not {size}")
    return [items[first : first + size] for first in range(len(items) - size + 1)]


def chunks(items, size):
    """Return the items in lists of `size`; the last one may be shorter."""
    if size < 1:
        raise ValueError(f"size: must be at least 1, not {size}")
    return [items[first : first + size] for first in range(0, len(items), size)]


def mean_of_last(values, count):
    """Return the mean of the last `count` values, or of all if there are fewer; None without values."""
    last = values[-count:] if count > 0 else []
    return sum(last) / len(last) if last else None
