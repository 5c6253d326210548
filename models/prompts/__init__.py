"""Texts of the prompts for language models. Pure."""
