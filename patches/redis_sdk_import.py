"""Import of redis-py without OpenTelemetry.

If OpenTelemetry or its SDK is installed, redis-py 8.1 imports it with itself, although only its own metrics use it, which
a program has to switch on. This takes a tenth of the processor time of a command that reads. The command line switches no
metrics on, so it refuses both to redis-py, and only to redis-py. Upstream: no issue found. Remove it when
`test_redis_py_imports_the_sdk_of_opentelemetry` fails.
"""

from __future__ import annotations

import sys

#: What is refused, and to which module.
_IMPORTERS = {
    "opentelemetry.metrics": "redis.observability.metrics",
    "opentelemetry.sdk.metrics": "redis.observability.providers",
}


class _SdkRefusal:
    """Finder that finds no OpenTelemetry while the module of redis-py that imports it is executed."""

    @staticmethod
    def find_spec(name: str, _path: object = None, _target: object = None) -> None:
        """Raise ImportError for OpenTelemetry if redis-py asks; find nothing else."""
        importer = sys.modules.get(_IMPORTERS[name]) if name in _IMPORTERS else None
        # The module sets this variable after its import of the SDK.
        if importer is not None and not hasattr(importer, "OTEL_AVAILABLE"):
            raise ModuleNotFoundError(f"{name} is not imported for redis-py", name=name)


def refuse_sdk_to_redis() -> None:
    """Import redis-py without the SDK from now on. Once redis-py is imported, this has no effect."""
    sys.meta_path.insert(0, _SdkRefusal)
