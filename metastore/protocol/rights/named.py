"""Which objects a call names: read from its arguments as its handler reads them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Any, Final

from thrift.Thrift import TType

from metastore.domain.names import DEFAULT_CATALOG, DatabaseName, TableName, database_name, fold, table_name
from metastore.errors import InvalidInputError
from metastore.protocol.methods import Method

_DATABASE: Final = ("db_name", "dbname", "dbName", "databaseName", "database", "db", "name", "oldDbName")
_TABLE: Final = ("tbl_name", "tblName", "table_name", "tableName", "tablename", "table", "name")
_FUNCTION: Final = ("funcName", "functionName")
_CATALOG: Final = ("catName", "catalogName", "catalog", "cat_name")


class Given:
    """The arguments of one call, by their names; and the limit that was taken from them, if one was."""

    limit: int | None = None

    def __init__(self, names: tuple[str, ...], values: list[Any]) -> None:
        self.__dict__.update(zip(names, values, strict=True))

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(name)


TableOf = Callable[[Given], TableName]
DatabaseOf = Callable[[Given], DatabaseName]


def named_table(method: Method) -> TableOf:
    """Returns what reads the table that a call names, from its arguments or its one struct.

    Raises LookupError where the method has no such arguments.
    """
    holder, fields = _holder(method, _DATABASE[:-2])
    table = _field(fields, _TABLE)
    if table is None:
        raise LookupError(f"{method.name} names no table")
    database, catalog = _field(fields, _DATABASE), _field(fields, _CATALOG)

    def read(given: Given) -> TableName:
        values = _held(given, holder)
        return table_name(_value(values, database), _value(values, table), _value(values, catalog))

    return read


def named_database(method: Method) -> DatabaseOf:
    """Returns what reads the database that a call names, as `named_table`."""
    holder, fields = _holder(method, _DATABASE)
    database, catalog = _field(fields, _DATABASE), _field(fields, _CATALOG)

    def read(given: Given) -> DatabaseName:
        values = _held(given, holder)
        return database_name(_value(values, database), _value(values, catalog))

    return read


def request_of(method: Method) -> Callable[[Given], Any]:
    """Returns what reads the first struct of a call."""
    name = next(iter(method.structs))
    return lambda given: getattr(given, name)


def table_of_struct(struct: Any) -> TableName:
    """Returns the table that a struct names."""
    return _table_of(struct, struct.__slots__, _TABLE[:-1])


def said(given: Given) -> tuple[set[TableName], str]:
    """Returns what a call itself says, which an error may repeat: the tables that its arguments, and the structs in
    these, name, or that are called like their functions, and all texts in them, in lower case.
    """
    names = given.__dict__
    tables, texts = {*_tables(given, names, _TABLE), *_tables(given, names, _FUNCTION)}, []
    left: list[Any] = list(names.values())
    while left:
        value = left.pop()
        if isinstance(value, str):
            texts.append(value.lower())
        elif isinstance(value, list | tuple | set):
            left += value
        elif isinstance(value, dict):
            left += [*value.keys(), *value.values()]
        elif hasattr(value, "thrift_spec"):
            tables.update(_tables(value, value.__slots__, (*_TABLE[:-1], "objectName", *_FUNCTION)))
            left += [getattr(value, name) for name in value.__slots__]
    return tables, "\n".join(texts)


def _tables(values: Any, names: Iterable[str], tables: tuple[str, ...]) -> Iterator[TableName]:
    with suppress(InvalidInputError):  # what is no name
        yield _table_of(values, names, tables)


def _table_of(values: Any, names: Iterable[str], tables: tuple[str, ...]) -> TableName:
    fields = (_field(names, some) for some in (_DATABASE[:-2], tables, _CATALOG))
    return table_name(*(text if isinstance(text := _value(values, field), str) else None for field in fields))


def folded_catalog(name: str | None) -> str:
    return fold(name) or DEFAULT_CATALOG


def _holder(method: Method, databases: tuple[str, ...]) -> tuple[str | None, tuple[str, ...]]:
    """Returns the struct that names the object (None: the arguments do), and its fields."""
    if _field(method.fields, databases):
        return None, method.fields
    for field in method.arguments.thrift_spec:
        if field is not None and field[1] == TType.STRUCT:
            fields = tuple(inner[2] for inner in field[3][0].thrift_spec if inner is not None)
            if _field(fields, databases):
                return field[2], fields
    raise LookupError(f"{method.name} names no database")


def _held(given: Given, holder: str | None) -> Any:
    return given if holder is None else getattr(given, holder)


def _field(fields: Iterable[str], candidates: tuple[str, ...]) -> str | None:
    known = set(fields)
    return next((candidate for candidate in candidates if candidate in known), None)


def _value(values: Any, name: str | None) -> Any:
    return None if name is None else getattr(values, name)
