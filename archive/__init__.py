"""The archive: sessions in SQL, which outlive Redis. The only importer of sqlmodel, sqlalchemy and alembic."""
