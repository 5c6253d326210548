"""Parked turns: parking, due work, replies."""
