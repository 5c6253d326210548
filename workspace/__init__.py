"""Tasks and conversations: authority, order of the checks, and notifications.

SQL is the source of truth. Each method is one transaction (a request is two, with the verdict between them);
notifications are published after its commit. Authority is checked first. A caller without it gets the same
error whether the task or conversation exists or not, so callers cannot probe for existence.

Source: conversations document; for points that it leaves open, see docs/conversations.md.
"""
