"""Request handlers of the dashboard: pages, JSON, live streams and actions."""
