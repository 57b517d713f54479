"""Column statistics of tables and partitions. Each method is one statement, regardless of their number.

Statistics of rows that were overwritten are forgotten: they are hidden from all readers, but their rows stay, so that
table care knows which columns somebody has analyzed, and counts them again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Select, delete, literal, select, text

from metastore.encoding.binary import STOP, EncodedList, decode
from metastore.storage.mapping.layout import Fields, whole_list
from metastore.storage.mapping.whole_objects import statistics_row
from metastore.storage.postgres.arrays import is_among, is_text_among, number_array_literal
from metastore.storage.queries.repository import Repository
from metastore.storage.references import TABLE_ITSELF
from metastore.storage.schema.partitions import partitions
from metastore.storage.schema.statistics import FORGOTTEN, IS_KNOWN, column_statistics
from thrift_idl.gen.hive_metastore.ttypes import ColumnStatisticsObj


class Analyzed(NamedTuple):
    """The statistics of one table or partition. `analyzed_at`: time of the latest, in seconds since 1970."""

    analyzed_at: int
    columns: EncodedList[ColumnStatisticsObj]


class StoredColumn(NamedTuple):
    """The place of statistics that are stored or forgotten, and the statistics if they are read, or are new."""

    partition_id: int
    engine: str
    column: str
    statistics: ColumnStatisticsObj | None


_PUT = text("""
    INSERT INTO column_statistics (table_id, partition_id, engine, column_name, analyzed_at, encoded)
    SELECT :table_id, new.partition_id, :engine, new.column_name, :analyzed_at, new.encoded
    FROM unnest(cast(:partition_ids AS bigint[]), cast(:columns AS text[]), cast(:encoded AS bytea[]))
        AS new(partition_id, column_name, encoded)
    ORDER BY new.partition_id, new.column_name
    ON CONFLICT (table_id, partition_id, engine, column_name)
        DO UPDATE SET analyzed_at = excluded.analyzed_at, encoded = excluded.encoded
""")

_FORGET = text(f"""
    UPDATE column_statistics SET analyzed_at = {FORGOTTEN}
    WHERE table_id = :table_id AND partition_id = ANY (cast(:ids AS bigint[])) AND {IS_KNOWN}
""")  # noqa: S608 - constants

_PLACES = text("""
    SELECT partition_id, engine, column_name, CASE WHEN column_name = ANY (cast(:decoded AS text[])) THEN encoded END
    FROM column_statistics
    WHERE table_id = :table_id AND partition_id = ANY (cast(:ids AS bigint[]))
      AND column_name = ANY (cast(:columns AS text[]))
""")

_REPLACE = text("""
    UPDATE column_statistics AS old SET analyzed_at = :analyzed_at, encoded = new.encoded
    FROM unnest(cast(:partition_ids AS bigint[]), cast(:engines AS text[]), cast(:columns AS text[]),
                cast(:encoded AS bytea[])) AS new(partition_id, engine, column_name, encoded)
    WHERE old.table_id = :table_id AND old.partition_id = new.partition_id AND old.engine = new.engine
      AND old.column_name = new.column_name
""")

_DELETE_PAIRS = text("""
    DELETE FROM column_statistics AS old
    USING unnest(cast(:partition_ids AS bigint[]), cast(:columns AS text[])) AS gone(partition_id, column_name)
    WHERE old.table_id = :table_id AND old.partition_id = gone.partition_id AND old.column_name = gone.column_name
""")


class ColumnStatistics(Repository):
    """Queries on statistics. Column names are in lower case; None means all columns."""

    def of_table(self, table_id: int, columns: Sequence[str] | None, engine: str) -> Analyzed | None:
        """Returns the statistics of the table itself, or None."""
        query = _of(table_id, columns, engine, literal("")).where(column_statistics.c.partition_id == TABLE_ITSELF)
        return self._read(query).get("")

    def of_partitions(
        self, table_id: int, names: Sequence[str], columns: Sequence[str] | None, engine: str
    ) -> dict[str, Analyzed]:
        """Returns the statistics of the named partitions that have some, by partition name."""
        query = (
            _of(table_id, columns, engine, partitions.c.name)
            .join(partitions, partitions.c.id == column_statistics.c.partition_id)
            .where(partitions.c.table_id == table_id, is_text_among(partitions.c.name, names))
        )
        return self._read(query)

    def put(
        self, table_id: int, new: Mapping[int, Sequence[ColumnStatisticsObj]], engine: str, analyzed_at: int
    ) -> None:
        """Stores or replaces statistics, by partition id. The table and the partitions must be locked."""
        partition_ids = [partition_id for partition_id, columns in new.items() for _ in columns]
        rows = [statistics_row(column) for columns in new.values() for column in columns]
        if not rows:
            return
        names, encoded = [row["column_name"] for row in rows], [row["encoded"] for row in rows]
        arrays = {"partition_ids": partition_ids, "columns": names, "encoded": encoded}
        values = {"table_id": table_id, "engine": engine, "analyzed_at": analyzed_at}
        self._connection.execute(_PUT, arrays | values)

    def forget(self, table_id: int, partition_ids: Sequence[int]) -> None:
        """Forgets the statistics of partitions or of the table itself (TABLE_ITSELF), which must be locked."""
        if partition_ids:
            self._connection.execute(_FORGET, {"table_id": table_id, "ids": number_array_literal(partition_ids)})

    def places(
        self, table_id: int, partition_ids: Sequence[int], columns: Sequence[str], decoded: Sequence[str]
    ) -> list[StoredColumn]:
        """Returns where statistics of these columns are stored or forgotten, by whichever engine.

        `decoded`: the columns whose statistics are returned, too.
        """
        values = {"ids": number_array_literal(partition_ids), "columns": list(columns), "decoded": list(decoded)}
        rows = self._connection.execute(_PLACES, {"table_id": table_id, **values})
        return [
            StoredColumn(partition_id, engine, column, encoded and decode(ColumnStatisticsObj, bytes(encoded) + STOP))
            for partition_id, engine, column, encoded in rows
        ]

    def replace(self, table_id: int, new: Sequence[StoredColumn], analyzed_at: int) -> None:
        """Replaces statistics that are stored or forgotten. The table and the partitions must be locked."""
        rows = [(one, statistics_row(one.statistics)) for one in new if one.statistics is not None]
        if rows:
            arrays = {
                "partition_ids": [one.partition_id for one, _ in rows],
                "engines": [one.engine for one, _ in rows],
                "columns": [one.column for one, _ in rows],
                "encoded": [row["encoded"] for _, row in rows],
            }
            self._connection.execute(_REPLACE, {**arrays, "table_id": table_id, "analyzed_at": analyzed_at})

    def delete(
        self, table_id: int, partition_ids: Sequence[int] | None, columns: Sequence[str] | None, engine: str | None
    ) -> int:
        """Deletes statistics, also forgotten ones, and returns their number.

        Args:
            table_id: the table.
            partition_ids: None for all partitions, but not the table itself.
            columns: None for all columns.
            engine: None for all engines.
        """
        statement = delete(column_statistics).where(column_statistics.c.table_id == table_id)
        if partition_ids is None:
            statement = statement.where(column_statistics.c.partition_id != TABLE_ITSELF)
        else:
            statement = statement.where(is_among(column_statistics.c.partition_id, partition_ids))
        if columns is not None:
            statement = statement.where(is_text_among(column_statistics.c.column_name, columns))
        if engine is not None:
            statement = statement.where(column_statistics.c.engine == engine)
        return self._connection.execute(statement).rowcount

    def delete_pairs(self, table_id: int, pairs: Sequence[tuple[int, str]]) -> None:
        """Deletes the statistics of these columns, given as pairs of partition id and column name."""
        if pairs:
            partition_ids, columns = (list(column) for column in zip(*pairs, strict=True))
            values = {"table_id": table_id, "partition_ids": partition_ids, "columns": columns}
            self._connection.execute(_DELETE_PAIRS, values)

    def _read(self, query: Select[Any]) -> dict[str, Analyzed]:
        fields: dict[str, list[Fields]] = {}
        analyzed_at: dict[str, int] = {}
        for owner, seconds, encoded in self._connection.execute(query):
            fields.setdefault(owner, []).append(Fields(bytes(encoded)))
            analyzed_at[owner] = max(seconds, analyzed_at.get(owner, seconds))
        return {
            owner: Analyzed(analyzed_at[owner], whole_list(ColumnStatisticsObj, encoded))
            for owner, encoded in fields.items()
        }


def _of(table_id: int, columns: Sequence[str] | None, engine: str, owner: Any) -> Select[Any]:
    query = (
        select(owner.label("owner"), column_statistics.c.analyzed_at, column_statistics.c.encoded)
        .select_from(column_statistics)
        .where(column_statistics.c.table_id == table_id, column_statistics.c.engine == engine, text(IS_KNOWN))
        .order_by("owner", column_statistics.c.column_name)
    )
    if columns is not None:
        query = query.where(is_text_among(column_statistics.c.column_name, columns))
    return query
