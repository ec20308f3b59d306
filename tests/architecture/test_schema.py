"""The two schemas are one: column by column, index by index, reference by reference.

What differs has a name here: full text is a generated column on PostgreSQL and a table of its own on SQLite.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from minutebook.ledger.database import Database, open_database
from minutebook.wiring import SCHEMA
from tests.conftest import Clock
from tests.postgres import Cluster

ONLY_POSTGRES_COLUMNS = {("texts", "words"), ("shelves", "held")}
ONLY_POSTGRES_INDEXES = {"texts_words", "shelves_words"}
#: SQLite's full-text indexes and the tables in which they keep themselves; and the one of its row numbers.
ONLY_SQLITE_TABLES = re.compile(r"(fulltext|shelf_words)(_\w+)?|sqlite_\w+")

TYPES = {"TEXT": "text", "INTEGER": "bigint", "REAL": "double precision", "BLOB": "bytea"}

Facts = set[tuple[Any, ...]]


@pytest.fixture(scope="module")
def sqlite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    home: Path = tmp_path_factory.mktemp("schema")
    with open_database(f"sqlite://{home}/ledger/ledger.db", schema=SCHEMA, wait=10, clock=Clock()) as opened:
        yield opened


@pytest.fixture(scope="module")
def postgres(cluster: Cluster) -> Iterator[Database]:
    name = cluster.fresh()
    with open_database(cluster.url(name), schema=SCHEMA, wait=10, clock=Clock()) as opened:
        yield opened
    cluster.drop(name)


def ask(database: Database, sql: str, **params: Any) -> list[dict[str, Any]]:
    with database.read() as tx:
        return tx.all(sql, **params)


def sqlite_tables(database: Database) -> dict[str, str]:
    rows = ask(database, "SELECT name, sql FROM sqlite_schema WHERE type = 'table'")
    return {row["name"]: row["sql"] for row in rows if not ONLY_SQLITE_TABLES.fullmatch(row["name"])}


def sqlite_columns(database: Database) -> Facts:
    found: Facts = set()
    for table in sqlite_tables(database):
        for row in ask(
            database, f"SELECT name, type, \"notnull\" AS needed, pk FROM pragma_table_info('{table}')"
        ):
            # A primary key is never null; SQLite says so only where the table says so.
            found.add((table, row["name"], TYPES[row["type"]], bool(row["needed"] or row["pk"]), row["pk"]))
    return found


POSTGRES_COLUMNS = """
    SELECT c.table_name, c.column_name, c.data_type, c.is_nullable, c.collation_name, c.is_generated,
           COALESCE((SELECT k.ordinal_position FROM information_schema.table_constraints t
                       JOIN information_schema.key_column_usage k ON k.constraint_name = t.constraint_name
                        AND k.table_schema = t.table_schema
                      WHERE t.constraint_type = 'PRIMARY KEY' AND t.table_schema = c.table_schema
                        AND t.table_name = c.table_name AND k.column_name = c.column_name), 0) AS pk
      FROM information_schema.columns c WHERE c.table_schema = current_schema()"""


def test_the_columns_are_the_same(sqlite: Database, postgres: Database) -> None:
    rows = ask(postgres, POSTGRES_COLUMNS)
    found = {
        (row["table_name"], row["column_name"], row["data_type"], row["is_nullable"] == "NO", row["pk"])
        for row in rows
        if (row["table_name"], row["column_name"]) not in ONLY_POSTGRES_COLUMNS
    }
    assert found == sqlite_columns(sqlite)
    assert len(found) > 150
    generated = {(row["table_name"], row["column_name"]) for row in rows if row["is_generated"] != "NEVER"}
    assert generated == ONLY_POSTGRES_COLUMNS


def test_every_text_of_postgresql_sorts_by_its_bytes_as_sqlites_does(postgres: Database) -> None:
    wrong = [
        (row["table_name"], row["column_name"])
        for row in ask(postgres, POSTGRES_COLUMNS)
        if row["data_type"] == "text" and row["collation_name"] != "C"
    ]
    assert wrong == []


def plain(predicate: str | None) -> str:
    """The condition of a partial index, as both databases would say it."""
    if not predicate:
        return ""
    text = re.sub(r"::text(\[\])?", "", predicate)
    text = re.sub(r"(\w+) = ANY \(ARRAY\[(.*?)\]\)", r"\1 IN (\2)", text)
    # Only the parentheses of a list say anything where all is joined by AND.
    text = re.sub(r"IN \((.*?)\)", r"IN [\1]", text)
    return " ".join(re.sub(r"[()]", " ", text).split())


def test_the_indexes_are_the_same(sqlite: Database, postgres: Database) -> None:
    theirs: Facts = set()
    for table in sqlite_tables(sqlite):
        for row in ask(
            sqlite, f"SELECT name, \"unique\" AS single, origin FROM pragma_index_list('{table}')"
        ):
            if row["origin"] == "pk":
                continue
            columns = ask(sqlite, f"SELECT name FROM pragma_index_info('{row['name']}') ORDER BY seqno")
            made = ask(sqlite, "SELECT sql FROM sqlite_schema WHERE name = :name", name=row["name"])[0]["sql"]
            predicate = re.split(r"\bWHERE\b", made or "", maxsplit=1)[1:]
            # A UNIQUE of a table has another name in each database; its columns count.
            name = row["name"] if row["origin"] == "c" else ""
            theirs.add(
                (
                    table,
                    name,
                    tuple(c["name"] for c in columns),
                    bool(row["single"]),
                    plain("".join(predicate)),
                )
            )
    ours: Facts = set()
    for row in ask(
        postgres,
        """SELECT t.relname AS on_table, i.relname AS name, x.indisunique AS single,
                  pg_get_expr(x.indpred, x.indrelid) AS predicate, con.conname AS made_by,
                  (SELECT string_agg(a.attname, ',' ORDER BY k.ord)
                     FROM unnest(x.indkey) WITH ORDINALITY AS k (attnum, ord)
                     JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum = k.attnum) AS columns
             FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid JOIN pg_class t ON t.oid = x.indrelid
             JOIN pg_namespace n ON n.oid = t.relnamespace
             LEFT JOIN pg_constraint con ON con.conindid = i.oid AND con.contype = 'u'
            WHERE n.nspname = current_schema() AND NOT x.indisprimary""",
    ):
        if row["name"] not in ONLY_POSTGRES_INDEXES:
            name = "" if row["made_by"] else row["name"]
            columns = tuple(row["columns"].split(","))
            ours.add((row["on_table"], name, columns, row["single"], plain(row["predicate"])))
    assert ours == theirs
    assert len(ours) > 30


def test_the_references_are_the_same(sqlite: Database, postgres: Database) -> None:
    theirs: Facts = set()
    for table, made in sqlite_tables(sqlite).items():
        for row in ask(sqlite, f'SELECT "from" AS from_column, "table" AS to_table, "to" AS to_column '
                               f"FROM pragma_foreign_key_list('{table}')"):  # fmt: skip
            line = next(line for line in made.splitlines() if line.split()[:1] == [row["from_column"]])
            theirs.add((table, row["from_column"], row["to_table"], row["to_column"], "DEFERRABLE" in line))
    ours = {
        (row["on_table"], row["from_column"], row["to_table"], row["to_column"], row["late"])
        for row in ask(
            postgres,
            """SELECT t.relname AS on_table, a.attname AS from_column, f.relname AS to_table,
                      b.attname AS to_column, con.condeferred AS late
                 FROM pg_constraint con JOIN pg_class t ON t.oid = con.conrelid
                 JOIN pg_class f ON f.oid = con.confrelid JOIN pg_namespace n ON n.oid = t.relnamespace
                 JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum = con.conkey[1]
                 JOIN pg_attribute b ON b.attrelid = f.oid AND b.attnum = con.confkey[1]
                WHERE con.contype = 'f' AND n.nspname = current_schema()""",
        )
    }
    assert ours == theirs
    assert len(ours) > 15


def test_the_checks_allow_the_same_values(sqlite: Database, postgres: Database) -> None:
    theirs = sorted(
        (table, sorted(re.findall(r"'(\w*)'", check)))
        for table, made in sqlite_tables(sqlite).items()
        for check in re.findall(r"CHECK \(((?:[^()]|\([^()]*\))*)\)", made)
    )
    ours = sorted(
        (row["on_table"], sorted(re.findall(r"'(\w*)'", row["said"])))
        for row in ask(
            postgres,
            """SELECT t.relname AS on_table, pg_get_constraintdef(con.oid) AS said
                 FROM pg_constraint con JOIN pg_class t ON t.oid = con.conrelid
                 JOIN pg_namespace n ON n.oid = t.relnamespace
                WHERE con.contype = 'c' AND n.nspname = current_schema()""",
        )
    )
    assert ours == theirs
    assert len(ours) > 15
