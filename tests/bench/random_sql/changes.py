"""Random statements that change a table, with the statements of SQLite that have the same effect."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tests.bench.random_sql.tables import ID, Table, created, random_rows, rows_sql
from tests.bench.random_sql.texts import (
    INT,
    LIST,
    LONG,
    TEXT,
    Column,
    Sql,
    both,
    changed,
    condition,
    constant,
    joined,
    literal,
    random_value,
)


@dataclass(frozen=True)
class Change:
    """A statement, and what has the same effect in SQLite.

    Attributes:
        kind: What it does.
        spark: Its text.
        sqlite: Statements of SQLite.
        after: What the model of the table must learn when the statement has run.
        snapshot: It reads a table without noticing later changes, as INSERT … SELECT does.
    """

    kind: str
    spark: str
    sqlite: Sequence[str]
    after: Callable[[], None] = lambda: None
    snapshot: bool = False


def random_change(chance: random.Random, table: Table, others: Sequence[Table]) -> Change:
    """Returns a statement that the table supports."""
    kinds: list[Callable[[random.Random, Table], Change]] = [_insert, _insert, _overwrite, _overwrite_static]
    kinds += [lambda chance, table: _copy(chance, table, others)]
    if table.changeable:
        kinds += [_delete, _update, _update, _merge, _merge, _replace_where, _add_column]
    kinds += [_truncate, _drop_partition] if chance.random() < 0.5 else []
    kinds += [_maintain] if table.changeable else []
    return chance.choice(kinds)(chance, table)


def literal_change(chance: random.Random, table: Table) -> Change:
    """Returns a statement whose effect on a row depends on that row and on constants only."""
    kinds = [_insert, _insert, _overwrite, _overwrite_static]
    kinds += [_delete, _update, _merge, _replace_where] if table.changeable else []
    return chance.choice(kinds)(chance, table)


def _names(columns: Sequence[Column], alias: str | None = None) -> Sql:
    return joined(", ", [column.of(alias) for column in columns])


def _given(columns: Sequence[Column], rows: Sequence[Sequence[object]]) -> tuple[Sql, list[str]]:
    """Returns rows as a query, and SQLite's statements that make a table `src` of them."""
    values, names = rows_sql(columns, rows), _names(columns)
    query = Sql(f"SELECT * FROM VALUES {values.spark} AS given({names.spark})", "SELECT * FROM src")
    return query, [f"CREATE TABLE src ({names.sqlite})", f"INSERT INTO src VALUES {values.sqlite}"]


def _insert(chance: random.Random, table: Table) -> Change:
    rows, columns = random_rows(chance, table.columns), list(table.columns)
    listed = Sql("", "")
    if chance.random() < 0.4:
        columns = [column for column in table.columns if column == ID or chance.random() < 0.7]
        chance.shuffle(columns)
        rows = random_rows(chance, columns)
        listed = both(" ({})", _names(columns))
    values = rows_sql(columns, rows)
    word = chance.choice(["", "TABLE "])
    return Change(
        "insert",
        f"INSERT INTO {word}{table.name}{listed.spark} VALUES {values.spark}",
        [f"INSERT INTO {table.name}{listed.sqlite} VALUES {values.sqlite}"],
    )


def _copy(chance: random.Random, table: Table, others: Sequence[Table]) -> Change:
    """INSERT … SELECT of the table itself or of another one."""
    source = chance.choice([table, *others])
    where = condition(chance, source.columns, "s")
    parts = []
    for column in table.columns:
        fitting = [each.of("s") for each in source.columns if each.type == column.type]
        value = literal(column.type, random_value(chance, column.type))
        parts.append(chance.choice([*fitting, value]) if fitting else value)
    query = both("SELECT {} FROM " + source.name + " s WHERE {}", joined(", ", parts), where)
    return Change(
        "copy",
        f"INSERT INTO {table.name} {query.spark}",
        [f"INSERT INTO {table.name} {query.sqlite}"],
        snapshot=True,
    )


def _replaced(table: Table, keys: Sequence[Column]) -> list[str]:
    """Returns the statements that delete the partitions to which `src` has rows, and insert these."""
    same = " AND ".join(f"nullif(src.{key.quoted.sqlite}, '') IS {table.name}.{key.quoted.sqlite}" for key in keys)
    where = f" WHERE EXISTS (SELECT 1 FROM src WHERE {same})" if keys else ""
    return [f"DELETE FROM {table.name}{where}", f"INSERT INTO {table.name} SELECT * FROM src"]


def _overwrite(chance: random.Random, table: Table) -> Change:
    query, made = _given(table.columns, random_rows(chance, table.columns))
    return Change(
        "overwrite", f"INSERT OVERWRITE TABLE {table.name} {query.spark}", [*made, *_replaced(table, table.keys)]
    )


def _overwrite_static(chance: random.Random, table: Table) -> Change:
    """Overwrites or appends with a PARTITION clause, whose last column may be dynamic."""
    if not table.keys:
        return _overwrite(chance, table)
    values = [random_value(chance, key.type, nullable=False) for key in table.keys]
    static = len(values) if len(values) == 1 or chance.random() < 0.6 else 1
    rows = [
        [*row[: len(table.data)], *values[:static], *row[len(table.data) + static :]]
        for row in random_rows(chance, table.columns)
    ]
    given = list(zip(table.keys, values, strict=True))[:static]
    texts = [f"{key.quoted.spark} = {constant(key.type, value)}" for key, value in given]
    clause = ", ".join([*texts, *(key.quoted.spark for key in table.keys[static:])])
    query, made = _given(table.columns, rows)
    selected = _names([*table.data, *table.keys[static:]]).spark
    word, replaced = "OVERWRITE", _replaced(table, table.keys)
    if chance.random() < 0.3:
        word, replaced = "INTO", [f"INSERT INTO {table.name} SELECT * FROM src"]
    text = f"INSERT {word} TABLE {table.name} PARTITION ({clause}) SELECT {selected} FROM ({query.spark})"
    return Change(f"{word.lower()} a partition", text, [*made, *replaced])


def _delete(chance: random.Random, table: Table) -> Change:
    where = condition(chance, table.columns)
    return Change(
        "delete", f"DELETE FROM {table.name} WHERE {where.spark}", [f"DELETE FROM {table.name} WHERE {where.sqlite}"]
    )


def _update(chance: random.Random, table: Table) -> Change:
    where = condition(chance, table.columns)
    columns = chance.sample(table.columns[1:], min(len(table.columns) - 1, chance.choice([1, 1, 2])))
    values = [changed(chance, column) for column in columns]
    text = joined(", ", [both("{} = {}", column.quoted, value) for column, value in zip(columns, values, strict=True)])
    return Change(
        "update",
        f"UPDATE {table.name} SET {text.spark} WHERE {where.spark}",
        [f"UPDATE {table.name} SET {text.sqlite} WHERE {where.sqlite}"],
    )


def _replace_where(chance: random.Random, table: Table) -> Change:
    where = condition(chance, table.columns)
    query, made = _given(table.columns, random_rows(chance, table.columns))
    return Change(
        "replace where",
        f"INSERT INTO {table.name} REPLACE WHERE {where.spark} {query.spark}",
        [*made, f"DELETE FROM {table.name} WHERE {where.sqlite}", f"INSERT INTO {table.name} SELECT * FROM src"],
    )


def _merge(chance: random.Random, table: Table) -> Change:
    """MERGE by `id`, with up to four clauses. SQLite runs them in an order in which none sees the effect of another."""
    columns, name = table.columns, table.name
    rows = list({row[0]: row for row in random_rows(chance, columns)}.values())
    query, made = _given(columns, rows)
    deleted, unmatched = condition(chance, columns, "t"), condition(chance, columns, "t")
    inserted = condition(chance, columns, "s")
    column = chance.choice(columns[1:])
    plain = {each: _without_alias(each) for each in (deleted, unmatched)}
    matched = f'EXISTS (SELECT 1 FROM src WHERE src."id" = {name}."id")'
    text = f"MERGE INTO {name} t USING ({query.spark}) s ON t.id = s.id"
    made.append(f'CREATE TABLE there AS SELECT "id" FROM {name}')
    if chance.random() < 0.4:
        text_by_source, by_source = ("DELETE", f"DELETE FROM {name}")
        if chance.random() < 0.5:
            value = literal(column.type, random_value(chance, column.type))
            text_by_source = f"UPDATE SET t.{column.quoted.spark} = {value.spark}"
            by_source = f"UPDATE {name} SET {column.quoted.sqlite} = {value.sqlite}"
        made.append(f"{by_source} WHERE NOT {matched} AND {plain[unmatched]}")
    else:
        text_by_source = ""
    if chance.random() < 0.5:
        text += f" WHEN MATCHED AND {deleted.spark} THEN DELETE"
        made.append(f"DELETE FROM {name} WHERE {matched} AND {plain[deleted]}")
    text += f" WHEN MATCHED THEN UPDATE SET t.{column.quoted.spark} = s.{column.quoted.spark}"
    source = f'(SELECT src.{column.quoted.sqlite} FROM src WHERE src."id" = {name}."id")'
    made.append(f"UPDATE {name} SET {column.quoted.sqlite} = {source} WHERE {matched}")
    where = 'NOT EXISTS (SELECT 1 FROM there WHERE there."id" = s."id")'
    if chance.random() < 0.3:
        text += f" WHEN NOT MATCHED AND {inserted.spark} THEN INSERT *"
        where += f" AND {inserted.sqlite}"
    else:
        text += " WHEN NOT MATCHED THEN INSERT *"
    made.append(f"INSERT INTO {name} SELECT * FROM src s WHERE {where}")
    if text_by_source:
        text += f" WHEN NOT MATCHED BY SOURCE AND {unmatched.spark} THEN {text_by_source}"
    return Change("merge", text, made)


def _without_alias(condition_: Sql) -> str:
    """Returns the condition on the target for UPDATE and DELETE of SQLite, which have no alias here."""
    return condition_.sqlite.replace('t."', '"')


def _truncate(chance: random.Random, table: Table) -> Change:
    del chance
    return Change("truncate", f"TRUNCATE TABLE {table.name}", [f"DELETE FROM {table.name}"])


def _drop_partition(chance: random.Random, table: Table) -> Change:
    if not table.keys:
        return _insert(chance, table)
    key = chance.choice(table.keys)
    value = random_value(chance, key.type, nullable=False)
    return Change(
        "drop partition",
        f"ALTER TABLE {table.name} DROP IF EXISTS PARTITION ({key.quoted.spark} = {constant(key.type, value)})",
        [f"DELETE FROM {table.name} WHERE {key.quoted.sqlite} = {literal(key.type, value).sqlite}"],
    )


def _add_column(chance: random.Random, table: Table) -> Change:
    """Adds a data column with or without DEFAULT. SQLite creates the table again, because columns have an order."""
    if len(table.data) > 7:
        return _insert(chance, table)
    type_ = chance.choice([INT, TEXT, LIST, LONG])
    value = random_value(chance, type_, nullable=False) if chance.random() < 0.5 and type_ != LIST else None
    column, old = Column(f"new_{len(table.data)}", type_, value), f"{table.name}_old"
    default = f" DEFAULT {literal(type_, value).spark}" if value is not None else ""
    columns = [*table.data, column, *table.keys]
    selected = [literal(type_, value).sqlite if each == column else each.quoted.sqlite for each in columns]
    return Change(
        "add column",
        f"ALTER TABLE {table.name} ADD COLUMNS ({column.quoted.spark} {column.type}{default})",
        [
            f"ALTER TABLE {table.name} RENAME TO {old}",
            created(table.name, columns),
            f"INSERT INTO {table.name} SELECT {', '.join(selected)} FROM {old}",
            f"DROP TABLE {old}",
        ],
        after=lambda: table.data.append(column),
    )


def _maintain(chance: random.Random, table: Table) -> Change:
    """A statement after which the table has the same rows."""
    texts = [
        f"ANALYZE TABLE {table.name} COMPUTE STATISTICS",
        f"ANALYZE TABLE {table.name} COMPUTE STATISTICS FOR ALL COLUMNS",
    ]
    if not table.keys:
        texts += [f"ALTER TABLE {table.name} CONCATENATE"] if table.layout in ("hive", "skewed") else []
    else:
        texts += [f"MSCK REPAIR TABLE {table.name}"]
    return Change("maintain", chance.choice(texts), [])
