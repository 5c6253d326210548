"""The contracts: collabs, dialogs, turns, events, lifecycles, errors. Pure values, no I/O."""
