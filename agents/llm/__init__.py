"""Agents that are language models."""
