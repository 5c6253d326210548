"""Repository of a review run: its web address, and the folder of the root in it."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"

_COLUMNS = ("repository_url", "repository_folder")


def upgrade() -> None:
    """Add the columns."""
    for name in _COLUMNS:
        op.add_column("review_run", sa.Column(name, sa.String(), nullable=False, server_default=""))


def downgrade() -> None:
    """Drop the columns with their content."""
    for name in _COLUMNS:
        op.drop_column("review_run", name)
