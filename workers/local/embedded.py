"""The former place of `symposia.client.embedded`, for programs that were written for release 0.1.0."""

from __future__ import annotations

from ...client.embedded import EmbeddedServer

__all__ = ["EmbeddedServer"]
