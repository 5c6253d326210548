"""Writes the fixture of this release, its state and its code: `make upgrade-fixture RELEASE=0.1.0`.

See CONTRIBUTING.md for when to do so.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path

from redis import Redis

from symposia.state.redis.readers import server_ms
from upgrades.installation import UpgradeInstallation, empty_installation
from upgrades.scenario import run_to_the_middle
from upgrades.snapshots import dump_archive, dump_redis
from upgrades.versions import write_wheel


def main() -> None:
    """Build the wheel, run the scenario with a worker, kill it, and write what it leaves."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "folder", type=Path, help="folder of the release, such as tests/upgrades/releases/0.1.0"
    )
    release: Path = parser.parse_args().folder
    write_wheel(release)
    with tempfile.TemporaryDirectory() as folder, empty_installation(Path(folder)) as installation:
        worker = installation.start_worker()
        ids = run_to_the_middle(installation)
        worker.kill()
        _write(release, ids, installation)


def _write(release: Path, ids: dict[str, str], installation: UpgradeInstallation) -> None:
    with Redis.from_url(installation.redis_url, decode_responses=True) as client:
        keys = dump_redis(client, installation.folder)
        document = {"written_ms": server_ms(client), "ids": ids, "keys": keys}
    (release / "redis.json").write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n")
    (release / "archive.sql").write_text(dump_archive(installation.archive_file, installation.folder))


if __name__ == "__main__":
    main()
