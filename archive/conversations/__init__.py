"""Tasks and conversations in SQL, which is the truth for them: what cannot be undone halfway is one transaction."""
