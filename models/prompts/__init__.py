"""Prompts of language models: the parts of a request, as text. Pure."""
