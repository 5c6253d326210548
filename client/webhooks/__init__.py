"""Webhooks: signed events to other systems, and events of GitHub and GitLab that start reviews."""
