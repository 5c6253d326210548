"""The registered agents of this machine: agents file, registry, sources of its changes."""
