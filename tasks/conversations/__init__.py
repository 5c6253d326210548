"""Tasks and conversations: who may do what, in which order it is checked, and who is told of it.

SQL is the truth. Each method is one transaction (a request is two, with the verdict between them); notices
are told after its commit. Authority is checked before anything else, and whoever has none is answered alike
whether the task or conversation exists or not: nothing can be probed.

Source: conversations document; where it is silent, docs/conversations.md says what holds.
"""
