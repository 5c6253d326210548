"""What is done at set times: when, what, and what came of it. Pure data; no clock is read here."""
