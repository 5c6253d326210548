"""Views of the dashboard: pure functions that build the JSON which pages show."""
