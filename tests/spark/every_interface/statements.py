"""Some two hundred statements of all kinds, which must give the same answer through every interface."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from typing import Any

SKEW = "SKEWED BY (x) ON ('a', 'b') STORED AS DIRECTORIES"
CONDITIONS = (
    "x = {x}",
    "x = {y}",
    "x IN ({x}, 'b')",
    "x > {x}",
    "NOT x = {x}",
    "x <=> {x} OR ds = {ds}",
    "ds = {ds} AND x = {x}",
    "ds >= {ds} AND x LIKE 'a%'",
    "id = {n}",
    "upper(x) = 'A'",
)


@dataclass(frozen=True)
class Statement:
    """A text with {markers} of its values. `columns`: the columns of the answer that do not change; None: all.

    `since`: the first version of Spark that has it, and the feature; `marked_since`: the same for parameters.
    """

    text: str
    values: dict[str, Any] = field(default_factory=dict)
    columns: tuple[int, ...] | None = None
    since: tuple[str, str] = ("3.5", "")
    marked_since: tuple[str, str] = ("3.5", "")

    def plain(self) -> str:
        """Returns the text with its values as constants."""
        return self.text.format(**{name: _literal(value) for name, value in self.values.items()})

    def told(self) -> dict[str, Any]:
        """Returns both forms, for another process."""
        markers = self.text.format(**{name: f":{name}" for name in self.values})
        return {**asdict(self), "text": markers, "plain": self.plain()}


def _literal(value: object) -> str:
    return "'" + value.replace("'", "\\'") + "'" if isinstance(value, str) else str(value)


def statements() -> list[Statement]:
    """Returns all of them, in order."""
    return [
        *_skewed("parquet"),
        *_skewed("orc"),
        *_writes("parquet"),
        *_writes("orc"),
        *_buckets("parquet"),
        *_buckets("orc"),
        *_changes("parquet"),
        *_changes("orc"),
        *_dependents(),
        *_sparks(),
        *_others(),
        *(replace(each, since=("4.0", "SQL scripts and EXECUTE IMMEDIATE")) for each in _scripts()),
    ]


def _rows(*tables: str) -> Iterator[Statement]:
    for table in tables:
        yield Statement(f"SELECT * FROM {table}")


def _skewed(kind: str) -> Iterator[Statement]:
    t = f"skewed_{kind}"
    columns = "(id INT, x STRING, d DECIMAL(9,2)) PARTITIONED BY (ds STRING)"
    yield Statement(f"CREATE TABLE {t} {columns} {SKEW} STORED AS {kind} TBLPROPERTIES ('k' = 'v')")
    values = {"x": "a", "y": "it's", "ds": "1", "n": 3}
    yield Statement(
        f"INSERT INTO {t} VALUES (1, {{x}}, 1.5, {{ds}}), (2, {{y}}, 2, {{ds}}), ({{n}}, 'b', NULL, '2')", values
    )
    yield Statement(f"INSERT INTO {t} PARTITION (ds = '2') SELECT id + {{n}}, x, d FROM {t} WHERE ds = {{ds}}", values)
    yield from _rows(t)
    for condition in CONDITIONS:
        yield Statement(f"SELECT id, x, ds FROM {t} WHERE {condition}", values)
    yield Statement(f"SELECT x, count(*), sum(d) FROM {t} WHERE ds <> {{x}} GROUP BY x HAVING count(*) < {{n}}", values)
    yield Statement(f"WITH w AS (SELECT * FROM {t} WHERE x = {{x}}) SELECT a.id FROM w a JOIN {t} b USING (id)", values)
    yield Statement(f"SELECT id FROM {t} WHERE x IN (SELECT x FROM {t} WHERE ds = {{ds}})", values)
    yield Statement(
        f"SELECT /*+ SKEW_JOIN(a) */ a.id, b.id FROM {t} a JOIN {t} b ON a.x = b.x WHERE a.ds = {{ds}}", values
    )
    yield Statement(f"SHOW SCANS OF SELECT * FROM {t} WHERE x = {{x}} AND ds = {{ds}}", values, (1, 2, 3, 4))
    yield Statement(f"SHOW SKEW IN {t} (x)")
    yield Statement(f"DESCRIBE {t}")
    yield Statement(f"SHOW PARTITIONS {t}")
    yield Statement(f"SHOW TBLPROPERTIES {t} ('k')")
    yield Statement(f"ALTER TABLE {t} PARTITION (ds = {{ds}}) CONCATENATE", values, (0, 1, 2))
    yield Statement(f"ALTER TABLE {t} SKEWED BY (x) ON ({{y}}, 'q?') STORED AS DIRECTORIES", values)
    yield Statement(f"INSERT INTO {t} VALUES (9, {{y}}, 9, '9')", values)
    yield Statement(f"SHOW SCANS OF SELECT * FROM {t} WHERE x = {{y}} AND ds = '9'", values, (1, 2, 3, 4))
    yield Statement(
        f"INSERT OVERWRITE TABLE {t} PARTITION (ds = {{ds}}) VALUES ({{n}}, {{x}}, 0)",
        values,
        marked_since=("4.1", "parameters in the PARTITION clause of an INSERT"),
    )
    yield Statement(f"CREATE TABLE {t}_like LIKE {t}")
    yield Statement(f"INSERT INTO {t}_like SELECT * FROM {t}")
    yield Statement(f"ALTER TABLE {t}_like DROP PARTITION (ds = '1')")
    yield Statement(f"TRUNCATE TABLE {t} PARTITION (ds = '2')")
    yield from _rows(t, f"{t}_like")
    yield Statement(f"ALTER TABLE {t} NOT SKEWED")
    yield Statement(f"ALTER TABLE {t} RENAME TO {t}_renamed")
    yield from _rows(f"{t}_renamed")
    yield Statement(f"DROP TABLE {t}_like")
    yield Statement(f"SHOW TABLES LIKE '{t}*'", columns=(1,))


def _writes(kind: str) -> Iterator[Statement]:
    t, values = f"writes_{kind}", {"n": 5, "s": "a;b -- c", "h": 2}
    yield Statement(f"CREATE TABLE {t} (id INT, s STRING) PARTITIONED BY (ds STRING, hr INT) STORED AS {kind}")
    yield Statement(f"INSERT INTO {t} SELECT int(id), {{s}}, string(id % {{h}}), 1 FROM range({{n}})", values)
    yield Statement(f"INSERT INTO {t} (id, ds, hr) VALUES ({{n}}, 'z', {{h}})", values)
    yield Statement(
        f"FROM {t} INSERT INTO {t} SELECT id + 10, s, ds, hr WHERE id < {{h}} "
        f"INSERT OVERWRITE TABLE {t} PARTITION (ds = '7', hr) SELECT id, s, {{n}} WHERE id >= {{h}}",
        values,
    )
    yield from _rows(t)
    yield Statement(f"INSERT OVERWRITE TABLE {t} PARTITION (ds, hr) SELECT 1, 'x', '0', {{n}}", values)
    yield Statement(f"INSERT OVERWRITE TABLE {t} PARTITION (ds = 'z', hr = 2) IF NOT EXISTS SELECT 77, 'x'")
    yield Statement(
        f"CREATE TABLE {t}_made STORED AS {kind} AS SELECT s, count(*) AS n FROM {t} WHERE hr <= {{n}} GROUP BY s",
        values,
    )
    yield Statement(f"CREATE TABLE IF NOT EXISTS {t}_made STORED AS {kind} AS SELECT 1 AS s")
    yield Statement(f"CREATE TEMPORARY VIEW {t}_view AS SELECT id, ds FROM {t} WHERE hr = 1")
    yield from _rows(t, f"{t}_made", f"{t}_view")
    yield Statement(f"EXPLAIN INSERT INTO {t} SELECT * FROM {t} WHERE ds = '0'", columns=())
    yield Statement(f"ALTER TABLE {t} ADD PARTITION (ds = 'empty', hr = 0)")
    yield Statement(f"ALTER TABLE {t} ADD COLUMNS (more INT)")
    yield Statement(f"INSERT INTO {t} PARTITION (ds = 'm', hr = 1) VALUES (1, {{s}}, {{n}})", values)
    yield Statement(f"SELECT * FROM {t} WHERE more = {{n}} OR more IS NULL", values)
    yield Statement(f"SHOW PARTITIONS {t}")
    yield Statement(f"TRUNCATE TABLE {t}_made")
    yield Statement(f"SELECT count(*) FROM {t}_made WHERE n = {{n}}", values)
    yield Statement(f"DROP TABLE {t}_made")


def _buckets(kind: str) -> Iterator[Statement]:
    t, values = f"buckets_{kind}", {"id": 7, "name": "n7"}
    yield Statement(f"CREATE TABLE {t} (id INT, name STRING) CLUSTERED BY (id, name) INTO 4 BUCKETS STORED AS {kind}")
    yield Statement(f"INSERT INTO {t} SELECT int(id), concat('n', id) FROM range(20)")
    yield Statement(f"INSERT INTO {t} VALUES ({{id}}, {{name}})", values)
    yield Statement(f"SELECT * FROM {t} WHERE id = {{id}} AND name = {{name}}", values)
    yield Statement(f"SHOW SCANS OF SELECT * FROM {t} WHERE id = {{id}} AND name = {{name}}", values, (1, 2, 3, 4))
    yield Statement(f"SHOW BUCKET PROBLEMS IN {t} WITH ROWS")
    yield Statement(f"SELECT a.id FROM {t} a JOIN {t} b ON a.id = b.id AND a.name = b.name WHERE a.id < {{id}}", values)
    yield Statement(f"INSERT OVERWRITE TABLE {t} SELECT * FROM {t} WHERE id <> {{id}}", values)
    yield from _rows(t)
    yield Statement(f"DROP TABLE {t}")


def _changes(kind: str) -> Iterator[Statement]:
    t, values = f"changes_{kind}", {"id": 2, "s": "new"}
    yield Statement(f"CREATE TABLE {t} (id INT, s STRING) PARTITIONED BY (ds INT) STORED AS {kind}")
    yield Statement(f"INSERT INTO {t} SELECT int(id), string(id), int(id % 3) FROM range(9)")
    yield Statement(f"DELETE FROM {t} WHERE id = {{id}}", values)
    yield Statement(f"UPDATE {t} SET s = {{s}}, id = id + 100 WHERE ds = 1 AND id > {{id}}", values)
    yield from _rows(t)
    yield Statement(
        f"MERGE INTO {t} t USING (SELECT 0 AS id UNION ALL SELECT 50) u ON t.id = u.id WHEN MATCHED THEN DELETE "
        "WHEN NOT MATCHED THEN INSERT (id, s, ds) VALUES (u.id, {s}, {id})",
        values,
    )
    yield Statement(f"INSERT INTO {t} REPLACE WHERE ds = {{id}} SELECT 60, {{s}}, {{id}}", values)
    yield from _rows(t)
    yield Statement(f"DROP TABLE {t}")


def _dependents() -> Iterator[Statement]:
    yield Statement("CREATE TABLE hourly (v INT) PARTITIONED BY (ds STRING, hr STRING) STORED AS PARQUET")
    yield Statement("INSERT INTO hourly VALUES (1, '1', '1'), (2, '1', '2'), (3, '2', '1')")
    yield Statement("CREATE DEPENDENT TABLE daily PARTITIONED BY (ds STRING) DEPENDS ON TABLE hourly")
    yield Statement("ALTER TABLE daily ADD PARTITION (ds = '1')")
    yield from _rows("daily")
    yield Statement("SELECT v FROM daily WHERE ds = {ds} AND v > {v}", {"ds": "1", "v": 1})
    yield Statement("SHOW PARTITIONS daily")
    yield Statement("INSERT INTO hourly VALUES (4, '1', '3')")
    yield from _rows("daily")
    yield Statement("ALTER TABLE daily DROP PARTITION (ds = '1')")
    yield from _rows("daily")
    yield Statement("DROP TABLE hourly CASCADE")
    yield Statement("SHOW TABLES LIKE '*ly'", columns=(1,))


def _sparks() -> Iterator[Statement]:
    yield Statement("CREATE TABLE sparks (id INT, p STRING) USING parquet PARTITIONED BY (p)")
    yield Statement("INSERT INTO sparks VALUES ({n}, {p}), (2, 'q')", {"n": 1, "p": "p=1/%"})
    yield Statement("SELECT * FROM sparks WHERE p = {p}", {"p": "p=1/%"})
    yield Statement("CREATE TABLE sparks_made USING orc AS SELECT id, {p} AS s FROM sparks", {"p": "é€"})
    yield from _rows("sparks_made")
    yield Statement("CREATE TABLE own (id INT, x STRING)")
    yield Statement("INSERT INTO own VALUES (1, NULL), (NULL, '')")
    yield Statement("SELECT count(*), count(x), count(id) FROM own")
    yield Statement("SHOW TABLES LIKE 'sparks*'", columns=(1,))


def _others() -> Iterator[Statement]:
    yield Statement("CREATE TABLE facts (id INT, day DATE, tags ARRAY<STRING>) PARTITIONED BY (p INT) STORED AS ORC")
    values = {"day": "2026-01-02", "tag": "a b", "p": 1}
    yield Statement("INSERT INTO facts VALUES (1, date({day}), array({tag}, 'c'), {p}), (2, NULL, array(), 2)", values)
    yield Statement("SELECT id, tag FROM facts LATERAL VIEW explode(tags) e AS tag WHERE p = {p}", values)
    yield Statement("SELECT id, row_number() OVER (PARTITION BY p ORDER BY id DESC) FROM facts WHERE p <= {p}", values)
    yield Statement("SELECT id FROM facts WHERE day = {day} UNION SELECT -id FROM facts WHERE day IS NULL", values)
    yield Statement("SELECT p FROM facts EXCEPT SELECT id FROM facts WHERE array_contains(tags, {tag})", values)
    yield Statement("SELECT DISTINCT a.p FROM facts a LEFT ANTI JOIN facts b ON a.id = b.p AND b.day = {day}", values)
    yield Statement("CREATE VIEW seen AS SELECT id, p FROM facts WHERE p = 2")
    yield Statement("ALTER VIEW seen AS SELECT id, p, day FROM facts WHERE p = 1")
    yield from _rows("seen")
    yield Statement("SHOW COLUMNS IN facts")
    yield Statement("ALTER TABLE facts PARTITION (p = 2) RENAME TO PARTITION (p = 3)")
    yield Statement("ALTER TABLE facts SET TBLPROPERTIES ('reviewer' = 'it\\'s me')")
    yield Statement("SHOW TBLPROPERTIES facts ('reviewer')")
    yield Statement("ANALYZE TABLE facts PARTITION (p) COMPUTE STATISTICS")
    yield Statement("SHOW PARTITIONS facts")
    yield Statement("SELECT id, day, concat_ws('|', tags), p FROM facts")  # JDBC has arrays as texts
    yield Statement("DROP VIEW seen")


def _scripts() -> Iterator[Statement]:
    yield Statement("EXECUTE IMMEDIATE \"ALTER TABLE own SET TBLPROPERTIES ('k' = 'w')\"")
    yield Statement("SHOW TBLPROPERTIES own ('k')")
    yield Statement("EXECUTE IMMEDIATE \"INSERT INTO own VALUES (?, ?)\" USING 5, 'five'")
    yield Statement(
        "BEGIN CREATE TABLE scripted (id INT) STORED AS ORC; INSERT INTO scripted VALUES (7); "
        "SELECT id FROM scripted; END"
    )
    yield from _rows("own", "scripted")
