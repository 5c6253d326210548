"""The local model server."""
