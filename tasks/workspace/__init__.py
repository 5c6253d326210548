"""Tasks and conversations: authority, order of the checks, and notifications.

SQL is the source of truth. Each method is one transaction (a request is two, with the verdict between them); notices
are published after its commit. Authority is checked before anything else, and a caller without it gets the same
answer whether the task or conversation exists or not, so callers cannot probe for existence.

Source: conversations document; for points that it leaves open, see docs/conversations.md.
"""
