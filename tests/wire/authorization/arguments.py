"""Arguments for any method, generated from the IDL. All names belong to one database and one table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from thrift.Thrift import TType

from metastore.operations.method import Method
from thrift_idl.gen.hive_metastore.ttypes import CreationMetadata, EnvironmentContext, FieldSchema, HiveObjectType

_NUMBERS = (TType.BYTE, TType.I16, TType.I32, TType.I64)
_DATABASES = ("db", "dbname", "database", "databasename", "olddbname", "dbnames", "dbpatterns")
_PARTITIONS = ("partname", "partnames", "partitionname", "partitionnames")
_PRINCIPALS = ("principal", "user", "owner", "group", "grantor")
_LOCATIONS = ("location", "locationuri", "managedlocationuri", "rootpath", "relativepath", "datapath", "uri")


class Names(NamedTuple):
    """The names in the arguments. `flag`: every boolean except dryRun, and whether contexts ask for a cascade. With a
    `location`, columns have different names, and views no sources, so that the server accepts tables and partitions.
    """

    database: str
    table: str
    user: str
    value: str = "1"
    token: str = "aaaaaaaaaaaaaaaa-1"
    location: str | None = None
    number: int = 1
    flag: bool = False

    def text(self, method: str, field: str) -> str | None:
        """Returns the text for a field of this name."""
        name = field.lower().replace("_", "")
        if name == "name" and "database" in method:
            return self.database
        return next((text for is_meant, text in self._meanings() if is_meant(name)), self.table)

    def _meanings(self) -> list[tuple[Callable[[str], bool], str | None]]:
        return [
            (lambda name: name in _LOCATIONS, self.location),
            (lambda name: name.startswith("validwriteid"), None),
            (lambda name: "cat" in name, "hive"),
            (lambda name: name in ("fulltablenames", "tablesused"), f"{self.database}.{self.table}"),
            (lambda name: name.endswith(_DATABASES), self.database),
            (lambda name: any(principal in name for principal in _PRINCIPALS), self.user),
            (lambda name: name == "privilege", "SELECT"),
            (lambda name: name == "queryid", self.token),
            (lambda name: "val" in name, self.value),
            (lambda name: name.endswith(_PARTITIONS) or name == "names", f"ds={self.value}"),
            (lambda name: "type" in name, "MANAGED_TABLE"),
            (lambda name: "col" in name and "name" in name, "a"),
        ]


def arguments_of(method: Method, names: Names) -> list[Any]:
    """Returns a value for each argument of a method."""
    return [_value(names, method.name, *spec[1:4]) for spec in method.arguments.thrift_spec if spec is not None]


def _value(names: Names, method: str, kind: int, field: str, details: Any, depth: int = 0) -> Any:
    if kind == TType.STRUCT and details[0] is EnvironmentContext:
        return EnvironmentContext({"CASCADE": "true"}) if names.flag else None
    if kind == TType.STRUCT and names.location and details[0] is FieldSchema:
        return FieldSchema("ds" if field == "partitionKeys" else "a", "string", None)
    if kind == TType.STRUCT:
        has_no_sources = names.location and details[0] is CreationMetadata
        return None if depth > 6 or has_no_sources else _struct(names, method, details[0], depth)
    if kind == TType.STRING:
        return b"" if details == "BINARY" else names.text(method, field)
    if kind in (TType.LIST, TType.SET):
        item = _value(names, method, details[0], field, details[1], depth + 1)
        items = [] if item is None else [item]
        return items if kind == TType.LIST else set(items)
    if kind == TType.MAP:
        return {"ds": names.value} if "part" in field.lower() else {}
    if kind in _NUMBERS:
        return HiveObjectType.TABLE if field == "objectType" else names.number
    return None if kind == TType.DOUBLE else names.flag and field != "dryRun"


def _struct(names: Names, method: str, struct: Any, depth: int) -> Any:
    specs = [spec for spec in struct.thrift_spec if spec is not None]
    return struct(**{spec[2]: _value(names, method, *spec[1:4], depth + 1) for spec in specs})
