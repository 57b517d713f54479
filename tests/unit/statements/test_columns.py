"""ALTER TABLE … ADD, DROP and RENAME COLUMN in Spark's grammar."""

from __future__ import annotations

import pytest

from spark_client.statements.grammar.columns import AddColumns, ColumnStatement, DropColumns, RenameColumn, parse


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ALTER TABLE a.t DROP COLUMN B", DropColumns("a.t", ("b",), if_exists=False)),
        ("alter table t drop columns if exists (b, `C d`);", DropColumns("t", ("b", "c d"), if_exists=True)),
        ("ALTER TABLE t RENAME COLUMN a TO `B``c`", RenameColumn("t", "a", "B`c")),
        (
            "ALTER TABLE t ADD COLUMNS (a INT DEFAULT (1 + 2), `B` MAP<STRING, INT> COMMENT 'x, y', c DECIMAL(5, 2))",
            AddColumns("t", ("a", "b", "c")),
        ),
        ("ALTER TABLE t ADD COLUMN a STRUCT<b: INT, c: INT>", AddColumns("t", ("a",))),
        ("ALTER TABLE t DROP COLUMN a.b", None),
        ("ALTER TABLE t RENAME COLUMN a.b TO c", None),
        ("ALTER TABLE t RENAME COLUMN a", None),
        ("ALTER TABLE t DROP PARTITION (a = 'drop column b')", None),
        ("CREATE TABLE drop (column INT)", None),
    ],
)
def test_statements_about_columns(text: str, expected: ColumnStatement | None) -> None:
    assert parse(text) == expected
