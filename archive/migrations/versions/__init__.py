"""One module per revision, each with upgrade and downgrade."""
