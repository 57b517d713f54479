"""Fields of a call, by their paths in its arguments. Paths are checked against the IDL when the server starts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from operator import attrgetter
from typing import Any, Final, NamedTuple, TypeAlias

from thrift.Thrift import TType

from metastore.domain.names import database_name, table_name
from metastore.errors import ConfigurationError

Arguments: TypeAlias = Any  # an instance of a generated *_args class: they have no base class
Reader: TypeAlias = Callable[[Arguments], Any]

ARGUMENTS: Final = ""
"""The path of the arguments themselves."""
_FIRST: Final = "0"
"""The part of a path that stands for the first element of a list."""


class TableFields(NamedTuple):
    """The paths that name a table, such as `req.dbName`; `new_parts.0.dbName` is a field of a list's first struct."""

    database: str
    table: str
    catalog: str | None = None


class DatabaseFields(NamedTuple):
    """The paths that name a database or a pattern of databases."""

    database: str
    catalog: str | None = None


Field: TypeAlias = str | TableFields | DatabaseFields
"""A path to a value, or the paths of a name."""


def field_reader(arguments: type[Any], field: Field) -> Reader:
    """Returns a function that reads a field of the arguments: a value (None if a struct above it is unset), a TableName
    or a DatabaseName. The function raises InvalidInputError for a malformed name.

    Raises ConfigurationError if the arguments have no such field.
    """
    if isinstance(field, str):
        return _path_reader(arguments, field)
    readers = [_path_reader(arguments, path) if path else _nothing for path in field]
    if isinstance(field, DatabaseFields):
        database, catalog = readers
        return lambda call: database_name(database(call), catalog(call))
    database, table, catalog = readers
    return lambda call: table_name(database(call), table(call), catalog(call))


def label_reader(arguments: type[Any], field: Field) -> Callable[[Arguments], str]:
    """Returns a function that reads a name as the client wrote it, `database.table`, for the log.

    Raises ConfigurationError if the arguments have no such field.
    """
    paths = [field] if isinstance(field, str) else [path for path in field if path]
    readers = [_path_reader(arguments, path) for path in paths]
    if not isinstance(field, str) and field.catalog:
        del readers[-1]
    return lambda call: ".".join(str(text) for read in readers if (text := read(call)))


def _path_reader(arguments: type[Any], path: str) -> Reader:
    parts = path.split(".") if path != ARGUMENTS else []
    _check(arguments, parts)
    match parts:
        case []:
            return lambda call: call
        case [name]:
            return attrgetter(name)
        case [struct, name]:
            return lambda call: None if (outer := getattr(call, struct)) is None else getattr(outer, name)
    return lambda call: _walk(call, parts)


def _walk(value: Any, parts: list[str]) -> Any:
    for part in parts:
        if part == _FIRST:
            value = next((item for item in value or () if item is not None), None)
        else:
            value = None if value is None else getattr(value, part)
    return value


def _nothing(_: Arguments) -> None:
    return None


def _check(arguments: type[Any], parts: list[str]) -> None:
    kind: int = TType.STRUCT
    details: Any = (arguments, None)
    for part in parts:
        if part == _FIRST and kind == TType.LIST:
            kind, details = details[:2]
            continue
        fields = {name: (kind, details) for name, kind, details in _fields(details[0])} if kind == TType.STRUCT else {}
        if part not in fields:
            raise ConfigurationError(f"{arguments.__name__} has no field {'.'.join(parts)}: the IDL has no {part}")
        kind, details = fields[part]


def _fields(struct: Any) -> Iterator[tuple[str, int, Any]]:
    return ((spec[2], spec[1], spec[3]) for spec in struct.thrift_spec if spec is not None)
