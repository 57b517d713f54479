"""`python -m tests.bench.many_tables`: lists of a catalog with very many tables, which clients read at their start."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import click

from tests.bench.load import Connection, encode, spread
from tests.bench.servers import Side, ours, postgres
from tests.wire.builders import table
from thrift_idl.gen.hive_metastore.ttypes import Database, Table

_DATABASES = 100
_ROUNDS = 5


@click.command(help=__doc__)
@click.option("--tables", default=500_000, show_default=True)
def main(tables: int) -> None:
    """Prints the time of each list, the smallest of five, and the size of its reply."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)  # PostgreSQL may run as another user
        with postgres(folder / "postgres") as database, ours(database, folder / "ours") as side:
            _fill(side, folder, tables)
            database.vacuum(side)
            click.echo(f"{tables:,} tables: {database.size('ours') / tables:,.0f} bytes for each in the database")
            _measure(side)


def _fill(side: Side, folder: Path, tables: int) -> None:
    databases = [Database(_database(number), "", f"file:{folder}/d{number}", {}) for number in range(_DATABASES)]
    spread(side, (encode("create_database", database) for database in databases), 1)
    created = spread(side, _created(folder, tables), 2)
    click.echo(f"creating tables: {created.per_second:,.0f}/s")


def _created(folder: Path, tables: int) -> Iterator[bytes]:
    for number in range(tables):
        one: Table = table(_database(number % _DATABASES), f"t{number}", [("ds", "string")])
        one.tableType, one.parameters = "EXTERNAL_TABLE", {"EXTERNAL": "TRUE"}
        one.sd.location = f"file:{folder}/files/t{number}"
        yield encode("create_table", one)


def _database(number: int) -> str:
    return f"d{number}"


def _measure(side: Side) -> None:
    calls = {
        "all names of a database (1 %)": [encode("get_all_tables", _database(7))],
        "all names, one call for each database": [
            encode("get_all_tables", _database(number)) for number in range(_DATABASES)
        ],
        "names, types and comments of all (get_table_meta)": [encode("get_table_meta", "*", "*", [])],
    }
    with closing(Connection(side)) as connection:
        for name, requests in calls.items():
            rounds = []
            for _ in range(_ROUNDS):
                begun = time.perf_counter()
                size = sum(map(connection.call, requests))
                rounds.append(time.perf_counter() - begun)
            click.echo(f"{name}: {min(rounds):.3f} s, {size / 1e6:.1f} MB")
    click.echo(f"memory of a worker: {side.memory():.0f} MB")


if __name__ == "__main__":
    main()
