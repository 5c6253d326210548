"""Guards of agents: their tables in the agents file."""
