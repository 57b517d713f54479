"""`python -m tests.bench.copies`: calls on a table with more partitions than calls add in a reasonable time. Calls add
the first partitions; SQL copies their rows to other years.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import Path

import click

from tests.bench import measures, report
from tests.bench.load import Connection, spread, timing
from tests.bench.measures import Fact, Row
from tests.bench.servers import Postgres, Side, ours, postgres
from tests.bench.workload import Workload

_BATCH = 1_000
_COLUMNS = 40
_HOURS = 8_760  # of a year
# The text of a date occurs in the values, the location and the encoded form. All dates have the same length.
_COPY = """
    INSERT INTO partitions (table_id, name, values, keys, location, create_time, last_access_time, parameters,
                            descriptor_id, version, encoded)
    SELECT table_id, replace(name, old, new), ARRAY[new, values[2]], ARRAY[replace(keys[1], old, new), keys[2]],
           replace(location, old, new), create_time, last_access_time, parameters, descriptor_id, version,
           decode(replace(encode(encoded, 'hex'), encode(old::bytea, 'hex'), encode(new::bytea, 'hex')), 'hex')
    FROM (SELECT * FROM partitions ORDER BY id LIMIT {first}) AS p CROSS JOIN LATERAL (
        SELECT values[1] AS old, lpad((left(values[1], 4)::int + {years})::text, 4, '0') || substr(values[1], 5) AS new
    ) AS dates
"""
_CHANGED = "UPDATE partition_lists SET state = gen_random_uuid()"  # so that servers read the names again


@dataclass(frozen=True)
class _First(Workload):
    """Writes to the first partitions of the table."""

    name: str = ""

    @property
    def database(self) -> str:
        return self.name


@click.command(help=__doc__)
@click.option("--first", default=1_000_000, show_default=True, help="Partitions that calls add.")
@click.option("--times", default=30, show_default=True, help="The table has so many times these partitions.")
@click.option("--seconds", default=3.0, show_default=True, help="Seconds for each operation.")
def main(first: int, times: int, seconds: float) -> None:
    """Prints a line for each operation."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)  # PostgreSQL may run as another user
        with postgres(folder / "postgres") as database, ours(database, folder / "ours") as side:
            workload = Workload(f"file:{folder}/wide", first * times, _COLUMNS, min(_BATCH, first // 2), True)
            for measured in chain(
                _filled(workload, first, times, side, database),
                measures.read(workload, [side], database, seconds),
                measures.floor(workload, side, database, seconds),
                measures.read_changed(workload, [side], database, seconds),
                measures.plan(workload, side, database, seconds),
                measures.large_reply(workload, side),
                _written(workload, first, side),
            ):
                click.echo(report.line(measured))


def _filled(workload: Workload, first: int, times: int, side: Side, database: Postgres) -> Iterator[Row | Fact]:
    with closing(Connection(side)) as connection:
        for request in workload.create():
            connection.call(request)
    added = Row("add_partitions", first, units=workload.batch)
    added.timings[side.name] = spread(side, islice(workload.add(), first // workload.batch), 2)
    yield added
    begun = time.perf_counter()
    for number in range(1, times):
        database.run(side, _COPY.format(first=first, years=number * (first // _HOURS + 2)))
    database.run(side, _CHANGED)
    yield Fact("rows copied a second", "", {side.name: first * (times - 1) / (time.perf_counter() - begun)})
    yield Fact("VACUUM ANALYZE", "s", {side.name: measures.seconds(lambda: database.vacuum(side))})
    size = database.size(str(side.database)) / workload.partitions
    yield Fact(f"bytes per partition in the database, {workload.partitions:,}", "bytes", {side.name: size})
    indexes = database.sum_of(side, "max(pg_indexes_size('partitions'))") / workload.partitions
    yield Fact("of these, in indexes", "bytes", {side.name: indexes})
    rebuilt = measures.seconds(lambda: database.run(side, "REINDEX TABLE partitions"))
    yield Fact("building all indexes of partitions", "s", {side.name: rebuilt})


def _written(workload: Workload, first: int, side: Side) -> Iterator[Row | Fact]:
    """Measures changes of the first partitions, and the drop of the table."""
    few = _First(**vars(replace(workload, partitions=first)), name=workload.database)
    with closing(Connection(side)) as connection:
        for operation, (request, units) in few.writes().items():
            if "CASCADE" not in operation:
                elapsed = measures.seconds(lambda request=request: connection.call(request))
                yield Row(operation, workload.partitions, {side.name: timing([elapsed], elapsed)}, units=units)


if __name__ == "__main__":
    main()
