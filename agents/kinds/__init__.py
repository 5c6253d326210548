"""The kinds of agents: the entry of each in the agents file, and its agent."""
