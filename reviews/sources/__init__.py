"""Sources of reviews: files, changes of a git repository, documents, archived sessions."""
