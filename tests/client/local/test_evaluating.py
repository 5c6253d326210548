"""Evaluations in one process, with functions as agents."""

from __future__ import annotations

import asyncio

from symposia import EvaluationProgress, LocalClient


def test_functions_are_compared_also_inside_a_running_loop(tmp_path):
    (tmp_path / "score.py").write_text("print(1)")
    agents = {
        "ann": lambda text: f"{text} and a lamp",
        "bob": lambda _: "no",
        "judge": lambda _: '{"score": 0.5, "reason": "r"}',
    }
    seen: list[EvaluationProgress] = []

    async def evaluate(client):  # a notebook calls it in the thread of its loop
        return client.evaluate(
            {
                "name": "local",
                "session": {
                    "title": "t",
                    "purpose": "p",
                    "mode": "round_robin",
                    "participants": [{"participant_id": "writer"}],
                    "stop": {"max_turns": 1},
                },
                "cases": [{"message": "door"}],
                "variants": {"a": {"agents": {"writer": "ann"}}, "b": {"agents": {"writer": "bob"}}},
                "scorers": [
                    {"contains": "lamp"},
                    {"judge": "judge"},
                    {"program": ["python3", str(tmp_path / "score.py")]},
                ],
            },
            on_progress=seen.append,
        )

    with LocalClient(agents) as client:
        result = asyncio.run(evaluate(client))
    assert [it.scorers for it in result.summaries] == [
        {"contains": 1, "judge": 0.5, "program": 1},
        {"contains": 0, "judge": 0.5, "program": 1},
    ]
    assert str(seen[-1]) == "2 of 2 runs, 0 tokens, $0"
