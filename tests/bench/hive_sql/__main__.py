"""`make bench-sql`: queries on the views of Hive's schema beside the same queries on Hive's own tables.

One PostgreSQL holds both: a database of this metastore, and one that Hive's own script creates, with its indexes. The
tables are made in Hive's, and `metastore import` copies them. Each query runs alternately on both, and must return the
same rows.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import click
from sqlalchemy import Connection, NullPool, create_engine, text
from sqlalchemy.engine import make_url

from metastore.cli.commands import run
from migrations import runner
from tests.bench.hive_sql.catalog import fill
from tests.bench.hive_sql.queries import queries
from tests.bench.servers import Postgres, postgres
from tests.fixtures.database import execute, reachable_folder
from tests.interop.hive_schema.servers import psql, scripts
from tests.interop.maven import UnavailableError

Ask = Callable[[], Any]
_READER = "tool"
LIMIT = 2.0
"""The ratio that no query should exceed."""
NOISE = 1.0
"""Milliseconds below which a difference is not counted: planning a view takes longer than planning a table."""
# Hive's own schema has no names in lower case, which Airflow's query needs.
_LOWER_CASE = """
    DO $$ DECLARE statement text; BEGIN
        FOR statement IN
            SELECT format('CREATE VIEW %I AS SELECT %s FROM %I', lower(relname),
                          string_agg(format('%I AS %I', attname, lower(attname)), ', '), relname)
            FROM pg_class JOIN pg_attribute ON attrelid = pg_class.oid AND attnum > 0
            WHERE relname IN ('PARTITIONS', 'TBLS', 'DBS') AND relkind = 'r' GROUP BY relname
        LOOP EXECUTE statement; END LOOP;
    END $$
"""


@click.command()
@click.option("--tables", default=20_000, show_default=True, help="Number of tables; each second has 5 partitions.")
@click.option("--rounds", default=5, show_default=True, help="Runs of each query on each side; the fastest counts.")
@click.option("--only", default="", help="Run the queries whose names contain this text.")
def main(tables: int, rounds: int, only: str) -> None:
    """Compares the times of public queries on our views and on Hive's tables."""
    with reachable_folder() as folder:
        folder.chmod(0o755)
        (folder / "postgres").mkdir()
        with postgres(folder / "postgres") as database:
            ours, theirs = _filled(database, tables)
            with _connected(ours) as one, _connected(theirs) as other:
                slow = _compared(one, other, rounds, only)
    click.echo(f"{len(slow)} queries take more than {LIMIT:.0f} times as long as on Hive's tables")


def _filled(database: Postgres, tables: int) -> tuple[str, str]:
    """Returns the URLs of our database, as a reader of the views, and of Hive's, with the same tables."""
    begun = time.perf_counter()
    theirs, ours = database.create("theirs"), database.create("ours")
    try:
        for script in scripts("3.1", "postgres"):
            psql(make_url(theirs), "-v", "ON_ERROR_STOP=0", "-f", script.name, folder=script.parent)
    except UnavailableError as error:
        raise click.ClickException(f"Hive's schema is missing: {error}") from error
    with _connected(theirs) as connection:
        fill(connection, tables)
        connection.execute(text(_LOWER_CASE))
    runner.upgrade(ours)
    source = make_url(theirs).set(drivername="postgresql").render_as_string(hide_password=False)
    if run(["import", "run", source, "--database-url", ours]):
        raise click.ClickException("the import failed")
    if run(["db", "reader", "add", _READER, "--database-url", ours]):
        raise click.ClickException("the reader could not be added")
    for url in (ours, theirs):
        execute(url, "VACUUM ANALYZE")
    click.echo(f"{tables:,} tables on both sides after {time.perf_counter() - begun:,.0f} s")
    return make_url(ours).set(username=_READER).render_as_string(hide_password=False), theirs


@contextmanager
def _connected(url: str) -> Iterator[Connection]:
    with create_engine(url, poolclass=NullPool, isolation_level="AUTOCOMMIT").connect() as connection:
        yield connection


def _compared(one: Connection, other: Connection, rounds: int, only: str) -> list[str]:
    """Prints a line for each query. Returns the names of those that are too slow."""
    slow = []
    theirs = dict(queries(other))
    for name, ask in queries(one):
        if only not in name:
            continue
        rows = ask()
        if _without_ids(rows) != _without_ids(theirs[name]()):
            raise click.ClickException(f"{name}: the rows differ from Hive's")
        mine, hive = _fastest(ask, theirs[name], rounds)
        too_slow = mine > LIMIT * hive and mine - hive > NOISE
        slow += [name] if too_slow else []
        mark = "!" if too_slow else " "
        click.echo(f"{mine:9.1f} ms {hive:9.1f} ms {mine / hive:6.1f} × {mark} {len(rows):8,} rows  {name}")
    return slow


def _without_ids(rows: list[Any]) -> list[str]:
    """Returns the rows without integers: an import gives objects ids of their own."""
    return sorted(str([value for value in row if not isinstance(value, int)]) for row in rows)


def _fastest(one: Ask, other: Ask, rounds: int) -> tuple[float, float]:
    """The least milliseconds of each."""
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(rounds):
        for ask, taken in zip((one, other), times, strict=True):
            begun = time.perf_counter()
            ask()
            taken.append((time.perf_counter() - begun) * 1000)
    return min(times[0]), min(times[1])


if __name__ == "__main__":
    main()
