"""Agents: protocol, kinds (model, Python callable, script, program, person, remote), registry, runner."""
