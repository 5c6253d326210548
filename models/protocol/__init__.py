"""MPLP objects: collabs, dialogs, events, their lifecycles and invariants."""
