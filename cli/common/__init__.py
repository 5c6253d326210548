"""Options, output and errors of all commands."""
