"""The contracts: collabs, dialogs, turns, events, lifecycles, errors. Pure values, no I/O.

The bases of the models set `defer_build`: pydantic builds the validator of a model when the model is first used. A
command that reads uses few of the models that it imports. Pydantic builds once, also if several threads begin at the
same time (since 2.14).
"""
