"""Planning of the next step after a closed turn."""
