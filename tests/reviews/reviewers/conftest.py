"""What reviewers are tested with: messages, turns and a runner."""

from sessions.turns_of_agents import message, runner, turn

__all__ = ["message", "runner", "turn"]
