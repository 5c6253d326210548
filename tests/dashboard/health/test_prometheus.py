"""The shipped configuration in a real Prometheus, while all workers are killed, Redis is stopped, or Flower is killed."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from urllib.request import urlopen

import pytest
import yaml

from live import until
from programs import find_program
from scaling import patient
from servers.expendable import Expendable
from servers.ports import own_port

pytestmark = [pytest.mark.long, pytest.mark.timeout(300)]

FOLDER = Path(__file__).parents[3] / "deploy" / "monitoring"


def write_configuration(folder: Path, flower_port: int) -> Path:
    """The shipped files, with the port of this Flower, and with seconds in the place of minutes."""
    configuration = yaml.safe_load((FOLDER / "prometheus.yml").read_text())
    (job,) = configuration["scrape_configs"]
    assert job["static_configs"] == [{"targets": ["127.0.0.1:5555"]}]
    job["static_configs"] = [{"targets": [f"127.0.0.1:{flower_port}"]}]
    configuration["global"] = {"scrape_interval": "1s", "evaluation_interval": "1s"}
    rules = yaml.safe_load((FOLDER / "alerts.yml").read_text())
    for rule in rules["groups"][0]["rules"]:
        rule["for"] = "0s"
        rule["expr"] = rule["expr"].replace("_age_seconds) > 60", "_age_seconds) > 12")
    (folder / "alerts.yml").write_text(yaml.safe_dump(rules))
    path = folder / "prometheus.yml"
    path.write_text(yaml.safe_dump(configuration))
    return path


@pytest.fixture
def prometheus(services: Expendable, tmp_path: Path) -> Iterator[str]:
    """The address of a Prometheus that scrapes Flower."""
    address = f"127.0.0.1:{own_port()}"
    folder = tmp_path / "prometheus"
    folder.mkdir()
    command = [
        find_program("prometheus"),
        f"--config.file={write_configuration(folder, services.flower.port)}",
        f"--storage.tsdb.path={folder / 'data'}",
        f"--web.listen-address={address}",
    ]
    with (folder / "log").open("wb") as log, subprocess.Popen(command, stdout=log, stderr=log) as process:
        try:
            yield address
        finally:
            process.kill()


def firing(address: str) -> set[str] | None:
    """The alerts that fire; None: Prometheus does not answer yet."""
    with suppress(OSError), urlopen(f"http://{address}/api/v1/alerts", timeout=patient(5)) as answer:
        alerts = json.load(answer)["data"]["alerts"]
        return {alert["labels"]["alertname"] for alert in alerts if alert["state"] == "firing"}
    return None


def wait_for(address: str, *names: str) -> None:
    until(lambda: firing(address) == set(names), timeout_s=60, what=f"{names or 'no alert'} fires")


def test_alerts_fire_while_workers_redis_or_flower_are_away(services: Expendable, prometheus: str):
    wait_for(prometheus)
    services.workers[0].kill()
    wait_for(prometheus, "SymposiaNoWorker")
    services.start_worker()
    wait_for(prometheus)
    services.server.stop()
    wait_for(prometheus, "SymposiaMetricsOld")
    services.server.start()
    wait_for(prometheus)
    services.flower.kill()
    wait_for(prometheus, "SymposiaMetricsOld", "SymposiaEndpointDown")
    services.flower.start()
    wait_for(prometheus)
