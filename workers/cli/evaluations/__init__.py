"""Commands for evaluations."""
