"""Attachments of sessions: bytes by digest, and the sessions that have them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"

BIG = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Create the tables."""
    op.create_table(
        "blob",
        sa.Column("sha256", sa.String(), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("sha256", name=op.f("pk_blob")),
    )
    op.create_table(
        "attachment",
        sa.Column("session", BIG, nullable=False),
        sa.Column("sha256", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(
            ["session"], ["collab.id"], name=op.f("fk_attachment_session"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["sha256"], ["blob.sha256"], name=op.f("fk_attachment_sha256")),
        sa.PrimaryKeyConstraint("session", "sha256", name=op.f("pk_attachment")),
    )
    op.create_index(op.f("ix_attachment_sha256"), "attachment", ["sha256"])


def downgrade() -> None:
    """Drop the tables with their content."""
    op.drop_table("attachment")
    op.drop_table("blob")
