"""A session as a value: submission, specification, plan, stop conditions, limits."""
