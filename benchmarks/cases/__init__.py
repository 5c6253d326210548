"""The cases, a module for each family. Each module registers its cases when it is imported."""
