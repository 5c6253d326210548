"""Running agents: event loop, threads, deadlines, and errors of one kind."""
