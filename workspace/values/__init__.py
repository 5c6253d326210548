"""Tasks and the conversations inside them: members, managers, lists and notifications. Pure values.

Source: conversations document (schema, participants and authority, summary, creating conversations).
"""
