"""Batch reviews: values, stores, sources, panels, built-in reviewers, findings, reports and deliveries."""
