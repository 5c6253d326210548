"""Arguments of `submit` and `submit_many`: their names, and the submission that they mean."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import wraps
from inspect import Parameter, signature
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, cast

from ..config.settings import Settings
from ..models.errors import InvalidInput, SymposiaError
from ..models.protocol.collab import Collab
from ..models.sessions.how_to_run import OPTIONS, HowToRun
from ..models.sessions.submission import Submission
from ..models.text.nearest import did_you_mean

P = ParamSpec("P")
R = TypeVar("R")


def list_options(verb: Callable[P, R]) -> Callable[P, R]:
    """Return `submit` with each option as a parameter, as `help()` shows them; another one is a TypeError."""
    shown = signature(verb)
    collected = next(reversed(shown.parameters))
    kinds = HowToRun.__annotations__
    options = [
        Parameter(name, Parameter.KEYWORD_ONLY, default=None, annotation=kinds[name].__forward_arg__)
        for name in OPTIONS
    ]
    own = [parameter for name, parameter in shown.parameters.items() if name != collected]
    listed = shown.replace(parameters=[*own, *options])

    known = frozenset(listed.parameters)

    @wraps(verb)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        if not kwargs.keys() <= known:
            listed.bind(*args, **kwargs)  # raises the TypeError
        return verb(*args, **kwargs)

    call.__signature__ = listed  # type: ignore[attr-defined]
    return call


def resolve_session_files(options: HowToRun, settings: Settings) -> None:
    """Put the session files that agents name in the places of their names."""
    agents = options.get("agents")
    if isinstance(agents, Mapping) and any(
        isinstance(agent, Mapping) and "session" in agent for agent in agents.values()
    ):
        from ..jobs.session_file import with_session_files

        options["agents"] = with_session_files(agents, root=settings.session_root)


def read_session(given: object, settings: Settings) -> Submission:
    """Return the submission of a Collab, or of a table of arguments of `submit`.

    Raises:
        InvalidInput: A value breaks a rule.
    """
    if isinstance(given, Collab):
        return Submission.build(given)
    if not isinstance(given, Mapping) or "collab" not in given:
        raise InvalidInput("", given, "must be a Collab, or a table of arguments of `submit` with `collab`")
    for name in given:
        if name not in ("collab", *OPTIONS):
            rule = f"must be an argument of `submit`{did_you_mean(str(name), ('collab', *OPTIONS))}"
            raise InvalidInput(str(name)[:50], given[name], rule)
    options = {name: value for name, value in given.items() if name != "collab"}
    return read_submission(given["collab"], cast("HowToRun", options), settings)


def read_submission(
    collab: Collab | Mapping[str, Any] | Path, options: HowToRun, settings: Settings
) -> Submission:
    """Return the submission of the arguments of `submit`, which may be changed here.

    Raises:
        InvalidInput: A value breaks a rule.
    """
    resolve_session_files(options, settings)
    if not isinstance(collab, Path):
        return Submission.build(collab, **options)
    from ..jobs import session_file

    return session_file.read_submission(collab, options, root=settings.session_root)


@contextmanager
def name_index(index: int) -> Iterator[None]:
    """Put the index of a session before the field of InvalidInput, and into a note of another error."""
    where = f"sessions[{index}]"
    try:
        yield
    except InvalidInput as error:
        raise error.within(where) from None
    except SymposiaError as error:
        error.add_note(where)
        raise
