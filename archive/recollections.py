"""Texts of the long-term memory in SQL, found by their words.

The table is created with the first text and is no part of the migrations: an archive without long-term memory stays
as it is, and workers of earlier versions read it. SQLite finds words with FTS5, PostgreSQL with `tsvector`; both
reduce English words to their stems.
"""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    Integer,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
    delete,
    func,
    inspect,
    select,
    text,
)
from sqlalchemy.dialects.postgresql import TSVECTOR
from sqlalchemy.schema import Computed, CreateIndex, CreateTable, Index

from ..models.memory.recollections import Recollection, Scope, ScopeKind
from .engine import insert_into, storable_text

if TYPE_CHECKING:
    from sqlalchemy import ColumnElement, Row

    from .archive import Archive

#: Maximum number of words of a query that are looked up.
MAX_WORDS = 200
#: Maximum number of texts of a scope by default.
MAX_TEXTS = 1_000
#: Key of the advisory lock of PostgreSQL while the table is created: "recoll" in ASCII.
_LOCK = 0x7265636F6C6C

_WORD = re.compile(r"[^\W_]+")


def _table(*more: Column[object]) -> Table:
    big = BigInteger().with_variant(Integer(), "sqlite")
    return Table(
        "recollection",
        MetaData(),
        Column("id", big, primary_key=True),
        #: `Scope.key`.
        Column("scope", Text, nullable=False),
        #: Digest of the text without regard to case: a scope has each text once.
        Column("digest", Text, nullable=False),
        #: Turn that added it.
        Column("source", Text, nullable=False),
        Column("at_ms", big, nullable=False),
        Column("text", Text, nullable=False),
        *more,
        UniqueConstraint("scope", "digest", name="uq_recollection_scope"),
    )


RECOLLECTION = _table()
#: The table with the column that PostgreSQL computes.
_ON_POSTGRESQL = _table(Column("words", TSVECTOR, Computed("to_tsvector('english', text)", persisted=True)))

_WORDS_ON_SQLITE = (
    """CREATE VIRTUAL TABLE IF NOT EXISTS recollection_words USING fts5(
    scope, text, content='recollection', content_rowid='id', tokenize='porter unicode61')""",
    """CREATE TRIGGER IF NOT EXISTS recollection_words_added AFTER INSERT ON recollection BEGIN
    INSERT INTO recollection_words(rowid, scope, text) VALUES (new.id, new.scope, new.text); END""",
    """CREATE TRIGGER IF NOT EXISTS recollection_words_gone AFTER DELETE ON recollection BEGIN
    INSERT INTO recollection_words(recollection_words, rowid, scope, text)
    VALUES ('delete', old.id, old.scope, old.text); END""",
)
#: The words of the scope only narrow the search; the comparison with the column decides.
_FIND_ON_SQLITE = """
SELECT r.id, r.text, r.at_ms, r.source FROM recollection_words JOIN recollection AS r ON r.id = recollection_words.rowid
WHERE recollection_words MATCH :words AND r.scope = :scope
ORDER BY bm25(recollection_words, 0.0, 1.0), r.id DESC LIMIT :limit"""
_FIND_ON_POSTGRESQL = """
SELECT id, text, at_ms, source FROM recollection, to_tsquery('english', :words) AS query
WHERE scope = :scope AND words @@ query ORDER BY ts_rank(words, query) DESC, id DESC LIMIT :limit"""


class ArchivedRecollections:
    """Texts of the long-term memory in the archive. Methods may raise ArchiveUnavailable.

    Args:
        archive: The archive.
        max_texts: Maximum number of texts of a scope; the oldest are deleted.
    """

    def __init__(self, archive: Archive, *, max_texts: int = MAX_TEXTS) -> None:
        self._archive = archive
        self._database = archive.database
        self._max_texts = max_texts
        self._has_table = False

    def recall(self, query: str, *, scope: Scope, limit: int) -> list[Recollection]:
        """Return texts of the scope: the best matches of any word of the query, then the newest."""
        if not self._database.exists:
            return []
        with self._database.reading() as connection:
            if not self._is_created(connection):
                return []
            rows: dict[int, Any] = {row.id: row for row in self._find(connection, query, scope, limit)}
            if len(rows) < limit:
                columns = (
                    RECOLLECTION.c.id,
                    RECOLLECTION.c.text,
                    RECOLLECTION.c.at_ms,
                    RECOLLECTION.c.source,
                )
                newest = select(*columns).where(_is_in(scope)).order_by(RECOLLECTION.c.id.desc()).limit(limit)
                for row in connection.execute(newest):
                    rows.setdefault(row.id, row)
        return [Recollection(text=row.text, at_ms=row.at_ms, source=row.source) for row in rows.values()][
            :limit
        ]

    def remember(self, texts: Sequence[str], *, scope: Scope, source: str) -> None:
        """Store texts. A text that the scope has becomes its newest, so a repeated call changes nothing."""
        by_digest = {_digest(content): storable_text(content) for content in texts}
        if not by_digest:
            return
        self._archive.prepare()
        with self._database.writing() as connection:
            self._create(connection)
            values = {"scope": scope.key, "source": source, "at_ms": int(time.time() * 1000)}
            rows = [{**values, "digest": digest, "text": content} for digest, content in by_digest.items()]
            connection.execute(
                delete(RECOLLECTION).where(_is_in(scope), RECOLLECTION.c.digest.in_(by_digest))
            )
            # A concurrent writer on PostgreSQL may have stored the same text.
            insert = insert_into(RECOLLECTION, connection.dialect.name).on_conflict_do_nothing()
            connection.execute(insert, rows)
            kept = select(RECOLLECTION.c.id).where(_is_in(scope)).order_by(RECOLLECTION.c.id.desc())
            last = kept.offset(self._max_texts - 1).limit(1).scalar_subquery()
            connection.execute(delete(RECOLLECTION).where(_is_in(scope), RECOLLECTION.c.id < last))

    def forget(self, scope: Scope) -> int:
        """Delete all texts of a scope; return their number."""
        return self._delete(_is_in(scope))

    def forget_user(self, user_id: str) -> int:
        """Delete all texts of a user in every tenant; return their number."""
        return self.prune(user=user_id)

    def prune(self, *, before_ms: int | None = None, user: str | None = None, dry_run: bool = False) -> int:
        """Delete texts that were stored before a time, and those of a user (None: any); return their number."""
        conditions = []
        if before_ms is not None:
            conditions.append(RECOLLECTION.c.at_ms < before_ms)
        if user is not None:
            # Tenant and id are quoted, so the last colon is the one before the id. LIKE ignores case on SQLite.
            start, scope = f"{ScopeKind.USER}:", RECOLLECTION.c.scope
            end = f":{Scope(kind=ScopeKind.USER, id=user).key.rpartition(':')[2]}"
            conditions += [
                func.substr(scope, 1, len(start)) == start,
                func.substr(scope, func.length(scope) - len(end) + 1) == end,
            ]
        return self._delete(*conditions, dry_run=dry_run)

    def _delete(self, *conditions: ColumnElement[bool], dry_run: bool = False) -> int:
        if not self._database.exists:
            return 0
        with self._database.reading() as connection:
            if not self._is_created(connection):
                return 0
            if dry_run:
                count = select(func.count()).select_from(RECOLLECTION).where(*conditions)
                return connection.execute(count).scalar_one()
        with self._database.writing() as connection:
            return connection.execute(delete(RECOLLECTION).where(*conditions)).rowcount

    def _find(self, connection: Connection, query: str, scope: Scope, limit: int) -> Sequence[Row[Any]]:
        words = list(dict.fromkeys(word.casefold() for word in _WORD.findall(storable_text(query))))[
            :MAX_WORDS
        ]
        if not words:
            return ()
        if self._database.is_sqlite:
            narrowed = " + ".join(f'"{word}"' for word in _WORD.findall(scope.key))
            either = " OR ".join(f'"{word}"' for word in words)
            found = f"(scope : {narrowed}) AND (text : ({either}))"
            statement = _FIND_ON_SQLITE
        else:
            found = " | ".join(f"'{word}'" for word in words)
            statement = _FIND_ON_POSTGRESQL
        parameters = {"words": found, "scope": scope.key, "limit": limit}
        return connection.execute(text(statement), parameters).all()

    def _is_created(self, connection: Connection) -> bool:
        self._has_table = self._has_table or inspect(connection).has_table(RECOLLECTION.name)
        return self._has_table

    def _create(self, connection: Connection) -> None:
        """Create the table in this transaction, if it does not exist. On SQLite the whole file is locked."""
        if self._has_table:
            return
        if not self._database.is_sqlite:
            connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK})
        if not self._is_created(connection):
            table = RECOLLECTION if self._database.is_sqlite else _ON_POSTGRESQL
            connection.execute(CreateTable(table))
            connection.execute(CreateIndex(Index("ix_recollection_scope", table.c.scope, table.c.id)))
            if self._database.is_sqlite:
                for statement in _WORDS_ON_SQLITE:
                    connection.execute(text(statement))


def _digest(content: str) -> str:
    return sha256(content.casefold().encode()).hexdigest()


def _is_in(scope: Scope) -> ColumnElement[bool]:
    return RECOLLECTION.c.scope == scope.key
