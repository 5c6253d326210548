"""Which module of tests runs the blocks of which page. `tests/documents/test_every_block.py` checks that none is missing.

Blocks that are typed in a terminal are not listed here.
"""

from __future__ import annotations

from documents.pages import PAGES

#: Modules that take the blocks of a page with `documents.pages`, by the name of the page.
TAKEN_BY = {
    "README.md": (
        "tests/documents/test_readme.py",
        "tests/cli/test_readme.py",
        "tests/documents/consoles/test_readme.py",
        "tests/web/mcp/test_mcp_page.py",
    ),
    "docs/a2a.md": ("tests/sessions/agents/test_a2a_agents.py",),
    "docs/agents.md": ("tests/documents/test_agents.py", "tests/documents/test_changed_agents.py"),
    "docs/attachments.md": ("tests/documents/test_attachments.py",),
    "docs/celery.md": ("tests/sessions/steps/test_celery_page.py",),
    "docs/composing.md": ("tests/documents/test_composing.py",),
    "docs/containers.md": ("tests/packaging/test_containers.py",),
    "docs/continuing.md": ("tests/documents/test_continuing.py",),
    "docs/conversations.md": ("tests/documents/test_conversations.py",),
    "docs/dashboard.md": ("tests/dashboard/test_entry_points.py",),
    "docs/deploying-databases.md": ("tests/documents/test_deploying.py",),
    # Tests of `tests/security` start servers with the users of this page and of docs/security.md.
    "docs/deploying-redis.md": ("tests/documents/test_deploying.py", "tests/support/servers/granted.py"),
    "docs/dialogue.md": ("tests/documents/test_dialogue.py",),
    "docs/evaluations.md": ("tests/documents/test_evaluations.py",),
    "docs/identity.md": ("tests/web/test_identity_page.py",),
    "docs/guards.md": ("tests/documents/test_guards.py",),
    "docs/limits.md": ("tests/documents/test_limits.py",),
    "docs/local.md": ("tests/documents/test_local.py",),
    "docs/mcp.md": ("tests/web/mcp/test_mcp_page.py",),
    "docs/memory.md": ("tests/documents/test_memory.py",),
    "docs/models.md": ("tests/agents/llm/test_models_page.py",),
    "docs/modes.md": ("tests/documents/test_modes.py",),
    "docs/people.md": ("tests/documents/test_people.py",),
    "docs/python.md": ("tests/documents/test_python.py",),
    "docs/replay.md": ("tests/documents/test_replay.py",),
    "docs/results.md": ("tests/documents/test_results.py",),
    "docs/reviews.md": ("tests/documents/test_reviews.py", "tests/cli/reviews/test_ci_recipes.py"),
    "docs/schedules.md": ("tests/documents/test_settings.py",),
    "docs/security.md": ("tests/support/servers/granted.py",),
    "docs/settings.md": ("tests/documents/test_settings.py",),
    "docs/typescript.md": ("tests/web/test_typescript.py",),
    "docs/testing.md": ("tests/testing/test_symposia_fixture.py",),
    "docs/webhooks.md": ("tests/sessions/webhooks/test_webhooks.py", "tests/schedules/test_hooks.py"),
}
TAKEN_BY |= {page: ("tests/documents/test_recipes.py",) for page in PAGES if page.startswith("docs/recipes/")}
#: Pages that a test reads as a whole, with the reason.
READ_WHOLE = {
    "docs/commands.md": "generated from the help texts: tests/cli/test_commands_page.py compares them",
    "docs/tutorial.md": "tests/cli/test_tutorial.py writes its files and follows it from top to bottom",
}
