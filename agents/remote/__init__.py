"""Agents that are remote systems, called by signed webhooks."""
