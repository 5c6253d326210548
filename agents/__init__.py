"""Who speaks: the agent protocol, its kinds (model, Python callable, script), the registry, the runner."""
