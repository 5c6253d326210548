"""A turn as a value: context, outcome, question, live text."""
