"""Commands for alignment documents."""
