"""Loader of the Lua scripts, which are called by name (their verb).

The header of each `.lua` file declares its KEYS and ARGV. The loader turns these lines into the script's
local variables and refuses a call with other names, so the header cannot be outdated. A name that ends
in `*` takes all remaining values.

The line `USES` names the modules of `lua/lib/` that a script calls; the headers of these modules name
further ones. The loader puts exactly these modules before the script.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha1
from importlib.resources import files
from typing import Any, NamedTuple

from redis import Redis
from redis.exceptions import NoScriptError, ResponseError

from ...models.errors import ScriptError
from .keys import lock_key, session_key

ScriptValue = str | bytes | int | float


@dataclass(frozen=True, slots=True)
class Script:
    """One verb: its text with the library modules that it uses, and the names in its header."""

    verb: str
    text: str
    sha: str
    keys: tuple[str, ...]
    args: tuple[str, ...]
    rest_of_keys: str | None
    rest_of_args: str | None

    def key_list(self, session_id: str, lock: str | None, rest: Sequence[str]) -> list[str]:
        """Return KEYS in the header's order. A lock or key that the header does not name is a programming error."""
        if (lock is None) == ("lock" in self.keys):
            raise TypeError(f"{self.verb}: {'requires' if lock is None else 'does not take'} a lock")
        if rest and self.rest_of_keys is None:
            raise TypeError(f"{self.verb}: expected no further keys, got {list(rest)}")
        names = [lock if name == "lock" and lock else session_key(session_id, name) for name in self.keys]
        return [*names, *rest]

    def arg_list(self, args: Mapping[str, ScriptValue], rest: Sequence[ScriptValue]) -> list[ScriptValue]:
        """Return ARGV in the header's order. A missing or unknown name is a programming error."""
        if args.keys() != set(self.args):
            raise TypeError(f"{self.verb}: expected arguments {sorted(self.args)}, got {sorted(args)}")
        if rest and self.rest_of_args is None:
            raise TypeError(f"{self.verb}: expected no further arguments, got {len(rest)}")
        return [*map(args.__getitem__, self.args), *rest]


def _field(text: str, name: str) -> tuple[str, ...]:
    marker = f"--- {name}:"
    for line in text.splitlines():
        if line.startswith(marker):
            return tuple(line.removeprefix(marker).split())
    return ()


def _split_rest(names: tuple[str, ...]) -> tuple[tuple[str, ...], str | None]:
    if names and names[-1].endswith("*"):
        return names[:-1], names[-1].removesuffix("*")
    return names, None


def _locals(array: str, names: tuple[str, ...], rest: str | None) -> str:
    lines = [f"local {name} = {array}[{i}]" for i, name in enumerate(names, 1)]
    if rest is not None:
        lines.append(f"local {rest} = {{}}")
        lines.append(f"for i = {len(names) + 1}, #{array} do {rest}[#{rest} + 1] = {array}[i] end")
    return "\n".join(lines)


@cache
def _lua(name: str) -> str:
    return (files("symposia.state") / "lua" / f"{name}.lua").read_text(encoding="utf-8")


def _module(name: str, user: str) -> str:
    try:
        return _lua(f"lib/{name}")
    except FileNotFoundError:
        raise ValueError(f"{user}.lua uses the unknown library module {name!r}") from None


def _library(user: str, names: Iterable[str]) -> list[str]:
    """Return the texts of modules and of all modules they use: each once, after the modules it uses.

    Raises:
        ValueError: A module is unknown, or uses itself directly or indirectly.
    """
    texts: dict[str, str] = {}

    def add(name: str, user: str, users: tuple[str, ...]) -> None:
        if name in users:
            circle = " -> ".join((*users[users.index(name) :], name))
            raise ValueError(f"library modules use each other in a circle: {circle}")
        if name in texts:
            return
        text = _module(name, user)
        for used in _field(text, "USES"):
            add(used, f"lib/{name}", (*users, name))
        view = _field(text, "VIEW")
        texts[name] = f"{_view_reader(view)}\n{text}" if view else text

    for name in names:
        add(name, user, ())
    return list(texts.values())


def _view_reader(view: tuple[str, ...]) -> str:
    """Return the function `read_view_fields`: names in its text cost a script less than a table of names."""
    names = ", ".join(map(repr, view))
    return f"local function read_view_fields(session) return redis.call('HMGET', session, {names}) end"


@cache
def view_fields() -> tuple[str, ...]:
    """Return the fields of the session hash, in the order of the answer of a view."""
    return _field(_lua("lib/view"), "VIEW")


@cache
def load_script(verb: str) -> Script:
    """Return the script of a verb; read once per process.

    Raises:
        ValueError: Its library modules cannot be loaded.
    """
    body = _lua(verb)
    keys, rest_of_keys = _split_rest(_field(body, "KEYS"))
    args, rest_of_args = _split_rest(_field(body, "ARGV"))
    text = "\n".join(
        (
            *_library(verb, _field(body, "USES")),
            _locals("KEYS", keys, rest_of_keys),
            _locals("ARGV", args, rest_of_args),
            body,
        )
    )
    digest = sha1(text.encode(), usedforsecurity=False).hexdigest()
    return Script(verb, text, digest, keys, args, rest_of_keys, rest_of_args)


def evaluate(client: Redis, script: Script, keys: Sequence[str], args: Sequence[ScriptValue]) -> Any:
    """Run a script; load it first if the server does not know it (after a restart or SCRIPT FLUSH).

    Raises:
        ScriptError: The script failed; the message contains the verb and the error of Redis.
    """
    try:
        return _evaluated(client, script, keys, args)
    except UnicodeEncodeError:
        # A lone surrogate, such as from a file name in an error message, becomes `?`.
        sent = [value.encode("utf-8", "replace") if isinstance(value, str) else value for value in args]
        return _evaluated(client, script, keys, sent)


def _evaluated(client: Redis, script: Script, keys: Sequence[str], args: Sequence[ScriptValue]) -> Any:
    try:
        try:
            return client.evalsha(script.sha, len(keys), *keys, *args)
        except NoScriptError:
            return client.eval(script.text, len(keys), *keys, *args)
    except ResponseError as error:
        raise ScriptError(script.verb, str(error)) from error


def evaluate_many(
    client: Redis, script: Script, calls: Sequence[tuple[Sequence[str], Sequence[ScriptValue]]]
) -> list[Any]:
    """Run an idempotent script several times, in one round trip after the first call.

    Args:
        client: The client.
        script: The script.
        calls: KEYS and ARGV of each call.

    Returns:
        The answers, in the order of the calls.

    Raises:
        ScriptError: A call failed. Later calls may have been executed.
    """
    if not calls:
        return []
    first = evaluate(client, script, *calls[0])  # loads the script
    pipeline: Any = client.pipeline(transaction=False)
    for keys, args in calls[1:]:
        # Not `evalsha`, which redis-py refuses in a pipeline of a cluster.
        pipeline.execute_command("EVALSHA", script.sha, len(keys), *keys, *args)
    try:
        answers: list[Any] = pipeline.execute(raise_on_error=False)
    except UnicodeEncodeError:
        return [first, *(evaluate(client, script, keys, args) for keys, args in calls[1:])]
    # A call that failed is repeated alone: a node of a cluster may not know the script yet.
    return [
        first,
        *(
            evaluate(client, script, *call) if isinstance(answer, Exception) else answer
            for call, answer in zip(calls[1:], answers, strict=True)
        ),
    ]


class ScriptCall(NamedTuple):
    """One call of a script."""

    script: Script
    keys: Sequence[str]
    args: Sequence[ScriptValue]
    #: Send the text of a short script: the server never lacks it, so that no later command runs without this one.
    as_text: bool = False

    def command(self) -> tuple[ScriptValue, ...]:
        """Return the command of Redis."""
        script = self.script
        name, text = ("EVAL", script.text) if self.as_text else ("EVALSHA", script.sha)
        return (name, text, len(self.keys), *self.keys, *self.args)


#: A command of Redis that is no script.
Command = tuple[ScriptValue, ...]


def run_in_order(client: Redis, stages: Sequence[Sequence[ScriptCall | Command]]) -> list[list[Any]]:
    """Run idempotent scripts and commands: each stage after the stage before it.

    This takes one round trip, in which a stage also runs if the one before it has failed; in a cluster one for each stage and
    node, and a stage that fails is the last one.

    Returns:
        The answers of each stage.

    Raises:
        ScriptError: A script failed. Others may have been executed, also those of later stages.
        redis.ResponseError: The same of a command.
    """
    if hasattr(client, "send_in_order"):  # a single server
        return _run_together(client, stages)
    return [answers for stage in stages for answers in _run_together(client, [stage])]


def _run_together(client: Redis, stages: Sequence[Sequence[ScriptCall | Command]]) -> list[list[Any]]:
    commands = [[one.command() if isinstance(one, ScriptCall) else one for one in stage] for stage in stages]
    try:
        answers = _send_in_order(client, commands)
    except UnicodeEncodeError:  # as in `evaluate`
        answers = _send_in_order(client, [[_encoded(one) for one in stage] for stage in commands])
    return [
        [_checked(client, one, answer) for one, answer in zip(stage, answered, strict=True)]
        for stage, answered in zip(stages, answers, strict=True)
    ]


def _checked(client: Redis, one: ScriptCall | Command, answer: Any) -> Any:
    """Return the answer of a command; if the server could not run it, that of another attempt.

    It may not know a script yet. A script that failed is not repeated: it may have written a part.
    """
    if type(answer) is ResponseError:
        if isinstance(one, ScriptCall):
            raise ScriptError(one.script.verb, str(answer)) from answer
        raise answer
    return _run_alone(client, one) if isinstance(answer, Exception) else answer


def _send_in_order(client: Redis, stages: Sequence[Sequence[Command]]) -> list[list[Any]]:
    send: Callable[[Any], list[list[Any]]] | None = getattr(client, "send_in_order", None)
    if send is not None:  # a single server
        return send(stages)
    answers = []
    for stage in stages:
        pipeline: Any = client.pipeline(transaction=False)
        for command in stage:
            pipeline.execute_command(*command)
        answers.append(pipeline.execute(raise_on_error=False))
    return answers


def _run_alone(client: Redis, one: ScriptCall | Command) -> Any:
    if isinstance(one, ScriptCall):
        return evaluate(client, one.script, one.keys, one.args)
    plain: Any = client
    return plain.execute_command(*one)


def _encoded(command: Command) -> Command:
    return tuple(value.encode("utf-8", "replace") if isinstance(value, str) else value for value in command)


def call_script(
    client: Redis,
    verb: str,
    keys: Sequence[str],
    args: Mapping[str, ScriptValue],
    rest: Sequence[ScriptValue] = (),
) -> list[Any]:
    """Run the script of a verb; `args` by the names of its header. Raises ScriptError."""
    script = load_script(verb)
    answer: list[Any] = evaluate(client, script, keys, script.arg_list(args, rest))
    return answer


def call_on_session(
    client: Redis,
    verb: str,
    session_id: str,
    args: Mapping[str, ScriptValue],
    *,
    scope: str | None = None,
    scopes: Iterable[str] = (),
    rest: Sequence[ScriptValue] = (),
) -> list[Any]:
    """Run a verb on a session; `scope` and `scopes` select the locks that it gets. Raises ScriptError."""
    lock = None if scope is None else lock_key(session_id, scope)
    locks = [lock_key(session_id, other) for other in scopes]
    return call_script(client, verb, load_script(verb).key_list(session_id, lock, locks), args, rest)
