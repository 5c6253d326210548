"""Tasks and the conversations inside them: who takes part, who decides, what is listed and told. Pure values.

Source: conversations document (schema, participants and authority, summary, creating conversations).
"""
