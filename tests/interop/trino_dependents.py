"""Dependent tables in Trino: Hive views, which it translates with Coral or without, and which follow changes."""

from __future__ import annotations

from typing import Any

from tests.interop.trino_statements import Script
from tests.wire.dependencies.requests import add_to_dependent, create, depend

ODD = ("it's", "a\\b", "${x}", "a $", "__HIVE_DEFAULT_PARTITION__")
TYPES = {
    "date": "2024-01-31",
    "timestamp": "2024-01-31 10:00:00.5",
    "integer": "-5",
    "bigint": "9223372036854775807",
    "boolean": "true",
    "decimal(10,2)": "1.50",
    "varchar(5)": "b",
    "char(3)": "b",
    "double": "1.5",
}


def days(script: Script, client: Any, views: tuple[str, ...]) -> None:
    """The second scenario of the proposal. `script` writes the base tables; the catalogs `views` read them."""
    schema = script.name.partition(".")[2]
    script.do("CREATE TABLE {}.t (k varchar, ds varchar, hr varchar) WITH (partitioned_by = ARRAY['ds', 'hr'])")
    script.do(
        "CREATE TABLE {}.t2 (k varchar, ds varchar, hr varchar, min varchar) "
        "WITH (partitioned_by = ARRAY['ds', 'hr', 'min'])"
    )
    script.do("INSERT INTO {}.t VALUES ('a', '1', '1'), ('b', '1', '2'), ('c', '2', '1')")
    script.do("INSERT INTO {}.t2 VALUES ('d', '11', '1', '1'), ('e', '12', '1', '1')")
    create(client, schema, "tdep", "t")
    create(client, schema, "second", "tdep")
    steps: list[tuple[Any, list[tuple[str, str]]]] = [
        (lambda: None, []),
        (lambda: add_to_dependent(client, schema, "tdep", ["1"]), [("a", "1"), ("b", "1")]),
        (lambda: script.do("INSERT INTO {}.t VALUES ('x', '1', '25')"), [("a", "1"), ("b", "1"), ("x", "1")]),
        (lambda: client.drop_partition(schema, "t", ["1", "25"], True), [("a", "1"), ("b", "1")]),
        (lambda: depend(client, schema, "tdep", "t2"), [("a", "1"), ("b", "1")]),
        (lambda: add_to_dependent(client, schema, "tdep", ["11"]), [("a", "1"), ("b", "1"), ("d", "11")]),
        (lambda: script.do("ALTER TABLE {}.t2 RENAME TO {}.t3"), [("a", "1"), ("b", "1"), ("d", "11")]),
        (lambda: depend(client, schema, "tdep", "t3", ["1"]), [("d", "11")]),
    ]
    add_to_dependent(client, schema, "second", ["11"])
    for step, rows in steps:
        step()
        for catalog in views:
            script.ask(f"SELECT * FROM {catalog}.{schema}.tdep", *rows)
            script.ask(f"SELECT count(*) FROM {catalog}.{schema}.tdep WHERE ds = '1'", sum(ds == "1" for _, ds in rows))
            script.ask(f"SELECT k FROM {catalog}.{schema}.second", *[k for k, ds in rows if ds == "11"])
    add_to_dependent(client, schema, "tdep", ["12"])
    for catalog in views:
        script.ask(f"SELECT k FROM {catalog}.{schema}.tdep", "d", "e")
        with script.report.attempt(script.group, f"{catalog}: only the partitions that are asked for are read"):
            plan = script.trino.query(f"EXPLAIN SELECT k FROM {catalog}.{schema}.tdep WHERE ds = '11'")[0][0]
            assert "[[11]]" in plan, plan
            assert "[12]" not in plan, plan
        script.ask(f'SELECT ds FROM {catalog}.{schema}."tdep$partitions"', "1", "11", "12")


def types(script: Script, client: Any, views: tuple[str, ...]) -> None:
    """Partition columns of every type, odd texts, and nested data columns."""
    schema = script.name.partition(".")[2]
    for number, (kind, value) in enumerate(TYPES.items()):
        script.do(
            f"CREATE TABLE {{}}.base{number} (x integer, p {kind}, q integer) WITH (partitioned_by = ARRAY['p', 'q'])"
        )
        script.do(f"INSERT INTO {{}}.base{number} SELECT 1, CAST('{value}' AS {kind}), 1")
        _whole(client, schema, f"base{number}", f"dep{number}", "p")
        for catalog in views:
            name = f"{catalog}.{schema}.dep{number}"
            script.ask(f"SELECT count(*) FROM {name} WHERE p = CAST('{value}' AS {kind})", 1)
    script.do(
        "CREATE TABLE {}.odd (a array(integer), r row(x integer, y varchar), m map(varchar, integer), ds varchar) "
        "WITH (partitioned_by = ARRAY['ds'])"
    )
    for value in ODD:
        text = "NULL" if value.startswith("__") else "'" + value.replace("'", "''") + "'"
        script.do(f"INSERT INTO {{}}.odd VALUES (ARRAY[1], ROW(2, 'y'), MAP(ARRAY['z'], ARRAY[3]), {text})")
    _whole(client, schema, "odd", "odd_dep", "ds")
    shown = [None if value.startswith("__") else value for value in ODD]
    for catalog in views:
        script.ask(f"SELECT a[1], r.x, m['z'], ds FROM {catalog}.{schema}.odd_dep", *[(1, 2, 3, ds) for ds in shown])


def _whole(client: Any, schema: str, base: str, dependent: str, key: str) -> None:
    """A dependent table with every value that the base has."""
    create(client, schema, dependent, base, key)
    names = client.get_partition_names(schema, base, -1)
    values = [client.get_partition_by_name(schema, base, name).values[0] for name in names]
    add_to_dependent(client, schema, dependent, *[[value] for value in dict.fromkeys(values)])


def end(script: Script, client: Any) -> None:
    """Trino cannot drop a schema with Hive views; the metastore can."""
    schema = script.name.partition(".")[2]
    with script.report.attempt(script.group, "the schema is dropped by the metastore"):
        client.drop_database(schema, True, True)
