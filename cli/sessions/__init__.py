"""Commands for sessions."""
