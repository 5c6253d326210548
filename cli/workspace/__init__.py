"""Commands for tasks and conversations."""
