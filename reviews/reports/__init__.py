"""Reports of a run for different readers: people, code hosts, CI, and programs that read lines of JSON."""
