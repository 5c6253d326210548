"""Lists the sub-packages: the one thing pyproject.toml cannot discover where the repository root is the package."""

from setuptools import find_packages, setup

PACKAGES = (
    "agents",
    "archive",
    "client",
    "config",
    "factories",
    "jobs",
    "models",
    "patches",
    "reviews",
    "state",
    "tasks",
    "testing",
    "workers",
)

found = find_packages(include=[*PACKAGES, *(f"{package}.*" for package in PACKAGES)])
setup(
    packages=["symposia", *(f"symposia.{package}" for package in found)],
    # By this name it is recognized, and stays out of the package that its own folder is.
    script_name="setup.py",
)
