"""What is reviewed: files, changes of a git repository, documents, archived sessions."""
