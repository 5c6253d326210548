"""What pyproject.toml cannot declare: the sub-packages of the root package, and the project's address in the metadata.

`SYMPOSIA_PROJECT_URL`, an address on GitHub or GitLab, adds the project's URLs and makes the links of the
description absolute, under the tag of the version. Without it, the metadata has no URLs.
"""

import os
import re
import tomllib
from pathlib import Path

from setuptools import find_packages, setup

PACKAGES = (
    "agents",
    "alignment",
    "archive",
    "cli",
    "client",
    "config",
    "dashboard",
    "evaluation",
    "jobs",
    "memory",
    "models",
    "patches",
    "replay",
    "reviews",
    "schedules",
    "state",
    "tasks",
    "testing",
    "web",
    "workers",
    "workspace",
)
ROOT = Path(__file__).parent
RELATIVE_LINK = re.compile(r"\]\((?!\w+:)([^)\s#]*)(#[^)\s]*)?\)")
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]


def read_address() -> str:
    """Return the address of the project, without a slash at its end; empty if none is known."""
    address = os.environ.get("SYMPOSIA_PROJECT_URL", "").rstrip("/")
    if address and not re.fullmatch(r"https?://[^\s()#?]+", address):
        raise SystemExit(f"SYMPOSIA_PROJECT_URL must be an http(s) address, not {address!r}")
    return address


def make_absolute(text: str, address: str) -> str:
    """Return a Markdown text of the repository's root with absolute links; pictures need the file itself."""

    def replace(match: re.Match[str]) -> str:
        path = match[1] or "README.md"
        kind = "raw" if path.endswith((".png", ".svg")) else "blob"
        return f"]({address}/{kind}/v{VERSION}/{path}{match[2] or ''})"

    return RELATIVE_LINK.sub(replace, text)


address = read_address()
description = (ROOT / "README.md").read_text(encoding="utf-8")
pages = f"{address}/blob/v{VERSION}"
urls = {
    "Homepage": address,
    "Documentation": f"{pages}/README.md#documentation",
    "Source": address,
    "Changelog": f"{pages}/CHANGELOG.md",
}
subpackages = find_packages(include=[*PACKAGES, *(f"{package}.*" for package in PACKAGES)])
setup(
    packages=["symposia", *(f"symposia.{package}" for package in subpackages)],
    # By this name it is recognized, and stays out of the package that its own folder is.
    script_name="setup.py",
    long_description=make_absolute(description, address) if address else description,
    long_description_content_type="text/markdown",
    project_urls=urls if address else {},
)
