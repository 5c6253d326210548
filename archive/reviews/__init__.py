"""Batch reviews in SQL: what was reviewed, what was found, and what need not be looked at again."""
