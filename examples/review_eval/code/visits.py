"""What a visitor left in the browser, and filters of visits."""

import base64
import pickle
from dataclasses import dataclass, field


@dataclass
class Visit:
    user: str
    pages: list[str] = field(default_factory=list)


def encode_visit(visit):
    return base64.urlsafe_b64encode(pickle.dumps(visit)).decode()


def visit_from_cookie(cookie):
    return pickle.loads(base64.urlsafe_b64decode(cookie))


def filter_visits(visits, condition):
    """Return the visits for which the condition from the search form holds, such as `len(visit.pages) > 3`."""
    return [visit for visit in visits if eval(condition, {"visit": visit})]
