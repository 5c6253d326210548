"""Agents: the protocol, its kinds (model, Python callable, script, program, remote), the registry, the runner."""
