"""Storage descriptors from a source's database. Descriptors with the same content share one `Shape`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any, Final, NamedTuple

from metastore.importing.sources.connections import SourceConnection, chosen, with_keys
from metastore.importing.sources.objects import Shape
from metastore.importing.sources.replies import INVALID, problem_of
from metastore.storage.mapping.descriptors import complete
from thrift_idl.gen.hive_metastore.ttypes import FieldSchema, Order, SerDeInfo, SkewedInfo, StorageDescriptor

# The columns of SDS and SERDES that a query of tables, partitions or indexes selects, in the order of `SdRow`.
SD_COLUMNS: Final = """
    s."SD_ID", s."CD_ID", s."INPUT_FORMAT", s."OUTPUT_FORMAT", s."IS_COMPRESSED", s."IS_STOREDASSUBDIRECTORIES",
    s."LOCATION", s."NUM_BUCKETS", e."SERDE_ID", e."NAME", e."SLIB"
"""
SD_JOIN: Final = """
    LEFT JOIN "SDS" s ON s."SD_ID" = {owner}."SD_ID" LEFT JOIN "SERDES" e ON e."SERDE_ID" = s."SERDE_ID"
"""

# The child tables of a descriptor: the column that names it, and the query.
_CHILDREN: Final = {
    "SD_PARAMS": ('"SD_ID"', 'SELECT "SD_ID", "PARAM_KEY", "PARAM_VALUE" FROM "SD_PARAMS"'),
    "BUCKETING_COLS": ('"SD_ID"', 'SELECT "SD_ID", "INTEGER_IDX", "BUCKET_COL_NAME" FROM "BUCKETING_COLS"'),
    "SORT_COLS": ('"SD_ID"', 'SELECT "SD_ID", "INTEGER_IDX", "COLUMN_NAME", "ORDER" FROM "SORT_COLS"'),
    "SKEWED_COL_NAMES": ('"SD_ID"', 'SELECT "SD_ID", "INTEGER_IDX", "SKEWED_COL_NAME" FROM "SKEWED_COL_NAMES"'),
    # A skewed value is a list of texts in a table of its own.
    "SKEWED_VALUES": (
        'v."SD_ID_OID"',
        """
        SELECT v."SD_ID_OID", v."INTEGER_IDX", l."INTEGER_IDX", l."STRING_LIST_VALUE"
        FROM "SKEWED_VALUES" v JOIN "SKEWED_STRING_LIST_VALUES" l ON l."STRING_LIST_ID" = v."STRING_LIST_ID_EID"
        """,
    ),
    "SKEWED_COL_VALUE_LOC_MAP": (
        'm."SD_ID"',
        """
        SELECT m."SD_ID", m."STRING_LIST_ID_KID", l."INTEGER_IDX", l."STRING_LIST_VALUE", m."LOCATION"
        FROM "SKEWED_COL_VALUE_LOC_MAP" m
        LEFT JOIN "SKEWED_STRING_LIST_VALUES" l ON l."STRING_LIST_ID" = m."STRING_LIST_ID_KID"
        """,
    ),
}
_SHAPES: Final = 2_000
_COLUMN_LISTS: Final = 5_000

SdRow = Sequence[Any]
Locations = dict[tuple[str, ...], str]


class Described(NamedTuple):
    """A descriptor: the shared part, and its own locations."""

    shape: Shape
    location: str | None
    skewed: Locations

    def bare(self) -> StorageDescriptor:
        """Returns a descriptor with only the locations."""
        return StorageDescriptor(
            location=self.location, skewedInfo=SkewedInfo(skewedColValueLocationMaps=self.skewed or {})
        )

    def whole(self) -> StorageDescriptor:
        """Returns the descriptor of a table. It shares lists with the shape: do not change them."""
        sd = complete(StorageDescriptor(**{name: getattr(self.shape.sd, name) for name in self.shape.sd.__slots__}))
        shared = sd.skewedInfo
        sd.location = self.location
        sd.skewedInfo = SkewedInfo(shared.skewedColNames, shared.skewedColValues, self.skewed or {})
        return sd


class ShapeReader:
    """Reads the descriptors of many objects, a constant number of queries for each batch."""

    def __init__(self, connection: SourceConnection) -> None:
        self._connection = connection
        self._shapes: dict[Any, Shape] = {}
        self._columns: dict[int, list[FieldSchema]] = {}

    @cached_property
    def _filled(self) -> list[str]:
        """The child tables that have rows."""
        return [table for table in _CHILDREN if self._connection.exists(table)]

    def read(self, rows: Sequence[SdRow]) -> list[Described]:
        """Returns the descriptors of rows with `SD_COLUMNS`. A row without a descriptor gives an empty one."""
        ids = [row[0] for row in rows if row[0] is not None]
        serdes = self._serde_parameters([row[8] for row in rows if row[8] is not None])
        children = {table: self._children(table, ids) for table in self._filled} if ids else {}
        self._load_columns({row[1] for row in rows if row[1] is not None})
        return [self._valid(row, serdes.get(row[8]), children) for row in rows]

    def columns(self, column_list: int | None) -> list[FieldSchema]:
        """Returns the columns of a list that `read` has loaded."""
        return self._columns.get(column_list, []) if column_list is not None else []

    def load_columns(self, ids: Iterable[int]) -> None:
        """Reads lists of columns, for `columns`."""
        self._load_columns(set(ids))

    def _valid(
        self, row: SdRow, serde_parameters: str | None, children: dict[str, dict[int, list[Sequence[Any]]]]
    ) -> Described:
        try:
            return self._described(row, serde_parameters, children)
        except INVALID as error:
            problem = f"SDS.SD_ID={row[0]}: {type(error).__name__}: {error}"
            return Described(Shape(complete(StorageDescriptor()), problem), None, {})

    def _described(
        self, row: SdRow, serde_parameters: str | None, children: dict[str, dict[int, list[Sequence[Any]]]]
    ) -> Described:
        sd_id, columns_id, input_format, output_format, compressed, nested, location, buckets, _, name, library = row
        own: dict[str, Any] = {}
        for table, rows in children.items():
            if sd_id in rows:
                own[table] = tuple(map(tuple, rows[sd_id]))
        locations = own.pop("SKEWED_COL_VALUE_LOC_MAP", ()) if own else ()
        key = (
            columns_id,
            input_format,
            output_format,
            compressed,
            nested,
            buckets,
            name,
            library,
            serde_parameters,
            tuple(sorted(own.items())) if own else None,
        )
        shape = self._shapes.get(key)
        if shape is None:
            if len(self._shapes) >= _SHAPES:
                self._shapes.clear()
            shape = self._shapes[key] = self._shape(row, serde_parameters, own)
        return Described(shape, location, _locations(locations) if locations else {})

    def _shape(self, row: SdRow, serde_parameters: str | None, own: dict[str, Any]) -> Shape:
        _, columns_id, input_format, output_format, compressed, nested, _, buckets, _, name, library = row
        pairs = self._connection.pairs(serde_parameters) if serde_parameters else None
        parameters = self._connection.map_of("SERDE_PARAMS", pairs)
        sd = StorageDescriptor(
            cols=self.columns(columns_id),
            inputFormat=input_format,
            outputFormat=output_format,
            compressed=self._connection.flag(compressed),
            numBuckets=buckets,
            serdeInfo=SerDeInfo(name, library, dict(sorted(parameters.items()))),
            bucketCols=[text for _, text in sorted(own.get("BUCKETING_COLS", ()))],
            sortCols=[Order(column, order) for _, column, order in sorted(own.get("SORT_COLS", ()))],
            parameters={key: text for key, text in sorted(own.get("SD_PARAMS", ())) if text is not None},
            skewedInfo=SkewedInfo(
                [text for _, text in sorted(own.get("SKEWED_COL_NAMES", ()))],
                _lists(own.get("SKEWED_VALUES", ())),
            ),
            storedAsSubDirectories=self._connection.flag(nested),
        )
        problem = problem_of(sd)
        return Shape(complete(sd), f"SDS.SD_ID={row[0]}: {problem}" if problem else "")

    def _serde_parameters(self, ids: Sequence[int]) -> dict[int, str]:
        """Returns the parameters of each serde as a JSON text: equal texts mean equal parameters."""
        if not ids:
            return {}
        pairs = self._connection.parameters
        condition, values = chosen('"SERDE_ID"', ids)
        query = f'SELECT "SERDE_ID", {pairs} FROM "SERDE_PARAMS" WHERE {with_keys(condition)} GROUP BY "SERDE_ID"'  # noqa: S608 - constants
        return dict(self._connection.rows(query, *values))

    def _children(self, table: str, ids: Sequence[int]) -> dict[int, list[Sequence[Any]]]:
        children: dict[int, list[Sequence[Any]]] = {}
        owner_column, query = _CHILDREN[table]
        condition, values = chosen(owner_column, ids)
        for owner, *rest in self._connection.rows(f"{query} WHERE {condition}", *values):
            children.setdefault(owner, []).append(rest)
        for rows in children.values():
            rows.sort(key=lambda row: json.dumps(row))
        return children

    def _load_columns(self, ids: set[int]) -> None:
        if len(self._columns) > _COLUMN_LISTS:
            self._columns.clear()
            self._shapes.clear()
        if not (new := ids - self._columns.keys()):
            return
        for number in new:
            self._columns[number] = []
        condition, values = chosen('"CD_ID"', new)
        query = f"""
            SELECT "CD_ID", "COLUMN_NAME", "TYPE_NAME", "COMMENT" FROM "COLUMNS_V2" WHERE {condition}
            ORDER BY "CD_ID", "INTEGER_IDX"
        """  # noqa: S608 - constants
        for number, name, type_name, comment in self._connection.rows(query, *values):
            if number not in new:
                continue
            self._columns[number].append(FieldSchema(name, type_name, comment))


def _lists(rows: Iterable[Sequence[Any]]) -> list[list[str]]:
    """Returns the skewed values of rows of (position, position in the value, text)."""
    values: dict[int, list[tuple[int, str]]] = {}
    for position, inner, text in rows:
        values.setdefault(position, []).append((inner, text))
    return [[text for _, text in sorted(values[position])] for position in sorted(values)]


def _locations(rows: Iterable[Sequence[Any]]) -> Locations:
    """Returns the locations of skewed values, by value."""
    values: dict[int, list[tuple[int, str]]] = {}
    locations: dict[int, str] = {}
    for number, inner, text, location in rows:
        locations[number] = location
        if text is not None:
            values.setdefault(number, []).append((inner, text))
    return {
        tuple(text for _, text in sorted(values.get(number, ()))): location
        for number, location in locations.items()
        if location is not None
    }
