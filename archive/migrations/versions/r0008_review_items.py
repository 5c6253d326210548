"""Items of review runs: the number of dropped findings, and the files that models read."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    """Add the columns."""
    op.add_column("review_item", sa.Column("dropped", sa.Integer(), nullable=False, server_default="0"))
    op.add_column("review_item", sa.Column("reads", sa.String(), nullable=False, server_default="[]"))


def downgrade() -> None:
    """Drop the columns with their content."""
    op.drop_column("review_item", "reads")
    op.drop_column("review_item", "dropped")
