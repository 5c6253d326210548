"""Tables of batch reviews: runs, their items and findings."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"

_COUNTS = ("input_tokens", "output_tokens", "cached_tokens", "requests", "cost_micros")


def upgrade() -> None:
    """Create the tables."""
    op.create_table(
        "review_run",
        sa.Column("id", _big(), primary_key=True),
        *map(_text, ("run_id", "root_name", "root", "panel", "panel_sha", "state")),
        *(_long("started_ms"), _long("ended_ms", optional=True)),
        *map(_text, ("revision", "summary", "skipped")),
        *map(_long, _COUNTS),
        sa.UniqueConstraint("run_id", name="uq_review_run_run_id"),
    )
    op.create_index("ix_review_run_root_panel", "review_run", ["root", "panel"])
    op.create_index("ix_review_run_started_ms_id", "review_run", ["started_ms", "id"])
    _item()
    _finding()


def downgrade() -> None:
    """Drop the tables with their contents."""
    for table in ("finding", "review_item", "review_run"):
        op.drop_table(table)


def _item() -> None:
    op.create_table(
        "review_item",
        *(_run(), _number("position"), _text("item_key"), _text("path"), _text("kind"), _text("sha256")),
        *(_long("size"), _text("changed", optional=True), _text("cache_key"), _text("state")),
        *(_text("session_id", optional=True), _text("error"), _text("summary"), _text("findings")),
        *map(_long, _COUNTS),
        sa.PrimaryKeyConstraint("run", "position", name="pk_review_item"),
    )
    op.create_index("ix_review_item_cache_key_run", "review_item", ["cache_key", "run"])


def _finding() -> None:
    op.create_table(
        "finding",
        *(_run(), _number("position"), _text("fingerprint"), _text("status", optional=True), _text("path")),
        *(_number("start_line"), _number("end_line")),
        *map(_text, ("rule", "severity", "message", "suggestion")),
        sa.Column("confidence", sa.Float(), nullable=False),
        *map(_text, ("snippet_sha", "agents", "aliases")),
        sa.PrimaryKeyConstraint("run", "position", name="pk_finding"),
    )
    op.create_index("ix_finding_fingerprint", "finding", ["fingerprint"])


def _big() -> sa.types.TypeEngine[int]:
    return sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def _text(name: str, *, optional: bool = False) -> sa.Column[str]:
    return sa.Column(name, sa.String(), nullable=optional)


def _number(name: str) -> sa.Column[int]:
    return sa.Column(name, sa.Integer(), nullable=False)


def _long(name: str, *, optional: bool = False) -> sa.Column[int]:
    return sa.Column(name, _big(), nullable=optional)


def _run() -> sa.Column[int]:
    return sa.Column("run", _big(), sa.ForeignKey("review_run.id", ondelete="CASCADE"), nullable=False)
