"""The registered agents of this machine: agents file, registry, agent factory."""
