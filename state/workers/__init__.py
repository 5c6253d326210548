"""Workers and the agents they announce."""
