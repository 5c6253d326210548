"""The scope of review runs."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    """Add the column."""
    op.add_column("review_run", sa.Column("scope", sa.String(), nullable=False, server_default=""))


def downgrade() -> None:
    """Drop the column with its content."""
    op.drop_column("review_run", "scope")
