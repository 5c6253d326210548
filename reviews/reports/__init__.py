"""Reports of a run, each for the tool that reads it: people, code hosts, CI, and whatever takes lines of JSON."""
