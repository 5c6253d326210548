"""Further fields of findings: columns, why, replacement, quote, excerpt, verification."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Add the column."""
    op.add_column("finding", sa.Column("details", sa.String(), nullable=False, server_default="{}"))


def downgrade() -> None:
    """Drop the column with its content."""
    op.drop_column("finding", "details")
