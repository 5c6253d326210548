"""Parked turns: asking, reminding, answering."""
