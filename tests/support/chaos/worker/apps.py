"""The workers of the fault suite: the product's own app, which obeys orders at the boundaries of its turns.

`celery -A chaos.worker.apps worker`, in a folder with `orders/`. The variable CHAOS_DEFECT, of the
tests alone, names a planted defect.
"""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path
from typing import Any

from chaos.audit.outcomes import NOTED, NOTES
from chaos.faults.defects import plant
from chaos.worker.orders import Obedience
from symposia.client.building.connection import redis_url_in_use
from symposia.client.building.runtime import build_runtime, per_process
from symposia.client.steps.service import Steps, install_steps
from symposia.config.settings import load_settings
from symposia.tasks.runtime.runtime import Runtime, install_runtime
from symposia.workers.worker_app import create_worker_app

settings = load_settings()
defect = plant(os.environ.get("CHAOS_DEFECT", ""))
app = create_worker_app(settings)
app.conf.result_backend = settings.redis_url.get_secret_value()  # for steps; other tasks have no result
obedience = Obedience(Path("orders").absolute())


def _runtime() -> Runtime:
    runtime = build_runtime(app, settings, redis_url=redis_url_in_use(settings))
    return defect.runtime(dataclasses.replace(runtime, fault_hook=obedience))


install_runtime(app, per_process(_runtime))
install_steps(app, per_process(lambda: Steps(app, settings, fault_hook=obedience.at_step)))
defect.app(app)


@app.task(name=NOTED, bind=True)
def noted(self: Any, _result: object) -> None:
    """Note the run of a task after a step, or of one that `on_end` names."""
    with Path(NOTES).open("a") as file:
        file.write(f"{self.request.id}\n")
