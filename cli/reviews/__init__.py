"""Commands for reviews and their schedules."""
