"""Prompts of language models."""
