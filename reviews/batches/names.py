"""Names of the tasks of batch reviews, for modules that send them without importing them."""

from __future__ import annotations

REVIEW_TASK = "symposia.review"
REVIEW_ITEM_TASK = "symposia.review.item"
