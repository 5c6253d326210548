"""Items of review runs: the number of dropped findings."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    """Add the column."""
    op.add_column("review_item", sa.Column("dropped", sa.Integer(), nullable=False, server_default="0"))


def downgrade() -> None:
    """Drop the column with its content."""
    op.drop_column("review_item", "dropped")
