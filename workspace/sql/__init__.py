"""Tasks and conversations; SQL is their source of truth. Changes that belong together are one transaction."""
