"""One module a revision, each with its way back."""
