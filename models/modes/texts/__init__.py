"""Texts of the modes for language models: rules, form of an answer, and what is wanted in a turn. Pure.

What a participant reads depends on its position: no sentence may be false for the one who reads it.
"""
