"""Batch reviews: sources, panels, findings, reports, deliveries and schedules."""
