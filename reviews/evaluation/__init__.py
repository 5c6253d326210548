"""Evaluation of panels and models by planted defects."""
