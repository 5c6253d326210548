"""Connections to Redis, keys, scripts, streams and indexes."""
