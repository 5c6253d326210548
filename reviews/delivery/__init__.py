"""Delivery of review reports: to a folder, a webhook or by e-mail."""
