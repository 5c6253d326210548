"""Records of turns, for replays."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"

BIG = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Create the table."""
    op.create_table(
        "recorded_turn",
        sa.Column("session", BIG, nullable=False),
        sa.Column("token_id", sa.String(), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["session"], ["collab.id"], name=op.f("fk_recorded_turn_session"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("session", "token_id", name=op.f("pk_recorded_turn")),
    )


def downgrade() -> None:
    """Drop the table with its content."""
    op.drop_table("recorded_turn")
