"""The agents of this machine: the agents file, and the agents made from its entries."""
