"""Python agents that call `run_sync` of pydantic-ai, in the pools of a worker."""

from __future__ import annotations

from typing import Any

import pytest

from scaling import patient

pytest.importorskip("pydantic_ai")

AGENT = '[agents.ann]\nkind = "python"\ncallable = "stub_agents.model_agent:ask"\n'


@pytest.mark.parametrize("pool", ["threads", "prefork"])
def test_run_sync_works_in_the_pool(installation: Any, pool: str) -> None:
    (installation.folder / "agents.toml").write_text(AGENT)
    installation.start_worker(app="processes.foreign_app", options=["--pool", pool], concurrency=2)
    agents = {"ann": "ann", "ben": "ann"}
    modes = ("round_robin", "broadcast") * 2
    for job in [installation.submit(mode, agents, stop={"max_turns": 6}) for mode in modes]:
        result = job.result(timeout=patient(60)).raise_for_failure()
        assert {message.content for message in result.dialog.messages} == {"Hello"}
