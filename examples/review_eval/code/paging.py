"""Pages of a list, and changes between neighbours."""


def page_count(total, size):
    """Return the number of pages that show `total` items, `size` on a page."""
    return total // size


def page(items, number, size):
    """Return the items of a page; pages are numbered from 1."""
    first = (number - 1) * size
    return items[first : first + size]


def changes(prices):
    """Return the difference of each price to the one before."""
    return [prices[at + 1] - prices[at] for at in range(len(prices) - 2)]


def last_page(items, size):
    """Return the items of the last page."""
    if not items:
        return []
    return items[(len(items) - 1) // size * size :]
