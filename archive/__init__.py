"""The archive in SQL. Only this package imports sqlmodel, sqlalchemy and alembic."""
