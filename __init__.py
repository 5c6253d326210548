"""Symposia: multi-agent collaboration sessions on Celery workers.

    from symposia import Collab, Participant, submit

    job = submit(
        Collab(title="Review", purpose="Find what is wrong with it.", mode="pair",
               participants=[Participant(participant_id="coder"), Participant(participant_id="reviewer")]),
        agents={"coder": "local", "reviewer": "local"},
    )
    for message in job.messages(follow=True):
        print(message.speaker, message.content)
    result = job.result()
    print(result.collab.status, result.reason, result.detail)

`__init__.pyi` lists the public names. A name is imported when it is first used, so that `import symposia` is cheap.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any


@cache
def _modules() -> dict[str, str]:
    """Return the module of each public name, as `__init__.pyi` lists them."""
    import ast
    from importlib.resources import files

    tree = ast.parse(files(__name__).joinpath("__init__.pyi").read_text(encoding="utf-8"))
    imports = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
    return {alias.name: f".{node.module}" for node in imports for alias in node.names}


def __getattr__(name: str) -> Any:
    value: object
    if name == "__all__":
        value = sorted(_modules())
    elif name == "__version__":
        from importlib.metadata import version

        value = version(__name__)
    elif not name.startswith("_") and name in _modules():
        value = getattr(import_module(_modules()[name], __name__), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*_modules(), "__all__", "__doc__", "__name__", "__version__"])
