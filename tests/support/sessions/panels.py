"""A session file, and an agents file that names it."""

from __future__ import annotations

PANEL = """\
title: A panel
purpose: judge the draft
mode: round_robin
participants:
  - {participant_id: cat, agent: cat}
  - {participant_id: dan, agent: dan}
stop: {max_rounds: 1}
"""
COUNTING = """\
title: Counting
purpose: count
mode: round_robin
participants:
  - {participant_id: counter}
stop: {max_rounds: 1}
"""
AGENTS = """\
[agents.ann]
kind = "scripted"
replies = [{ say = "a draft", usage = { input_tokens = 10, output_tokens = 5 } }]

[agents.cat]
kind = "scripted"
replies = [{ say = "too long", usage = { input_tokens = 100, output_tokens = 20 } }]

[agents.dan]
kind = "scripted"
replies = [{ say = "heard {last}", usage = { input_tokens = 200, output_tokens = 30 } }]

[agents.panel]
kind = "session"
file = "panel.yaml"
"""

#: Agents that call sessions, too.
CALLERS = (
    AGENTS
    + """
[agents.editor]
kind = "python"
callable = "stub_agents.session_callers:edit"

[agents.counter]
kind = "python"
callable = "stub_agents.session_callers:count"

[agents.asker]
kind = "python"
callable = "stub_agents.session_callers:ask_for_a_count"

[agents.counting]
kind = "session"
file = "counting.yaml"

[agents.endless]
kind = "python"
callable = "stub_agents.session_callers:call_forever"

[agents.waiter]
kind = "python"
callable = "stub_agents.session_callers:submit_and_wait"

[agents.async_waiter]
kind = "python"
callable = "stub_agents.session_callers:submit_and_await"
"""
)
