"""Checks what a source returns: Thrift omits a field that has no value, or a value of another type, and columns of a
database may be null."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any, Final

from thrift.Thrift import TType

from metastore.errors import UnavailableError
from thrift_idl.gen.hive_metastore import ttypes as hive

log = logging.getLogger("metastore.import")
_SHOWN: Final = 200  # characters of the error about a row
_TEXTS: Final = 4  # texts of an object in its key
INVALID: Final = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""Errors of an object with values that Hive does not write."""
_TYPES: Final[Mapping[int, tuple[type, ...]]] = {TType.STRING: (str, bytes), TType.I32: (int,), TType.I64: (int,)}
_I32: Final = range(-(2**31), 2**31)
_NEEDED: Final[Mapping[type, tuple[str, ...]]] = {
    hive.CheckConstraintsResponse: ("checkConstraints",),
    hive.ColumnStatistics: ("statsDesc",),
    hive.ColumnStatisticsObj: ("colName", "statsData"),
    hive.Database: ("name",),
    hive.DefaultConstraintsResponse: ("defaultConstraints",),
    hive.FieldSchema: ("name",),
    hive.ForeignKeysResponse: ("foreignKeys",),
    hive.Function: ("functionName", "dbName"),
    hive.GetCatalogResponse: ("catalog",),
    hive.GetCatalogsResponse: ("names",),
    hive.GetOpenTxnsInfoResponse: ("open_txns",),
    hive.GetOpenTxnsResponse: ("txn_high_water_mark",),  # Hive 2 sends open_txns as a set, which is not read
    hive.GetPrincipalsInRoleResponse: ("principalGrants",),
    hive.GetTablesResult: ("tables",),
    hive.GetValidWriteIdsResponse: ("tblValidWriteIds",),
    hive.HiveObjectPrivilege: ("hiveObject", "principalName", "principalType", "grantInfo"),
    hive.HiveObjectRef: ("objectType",),
    hive.Index: ("indexName", "origTableName"),
    hive.NotNullConstraintsResponse: ("notNullConstraints",),
    hive.NotificationEvent: ("eventId", "eventTime", "eventType"),
    hive.NotificationEventResponse: ("events",),
    hive.Order: ("col", "order"),
    hive.Partition: ("values",),
    hive.PartitionsStatsResult: ("partStats",),
    hive.PrimaryKeysResponse: ("primaryKeys",),
    hive.PrivilegeGrantInfo: ("privilege",),
    hive.Role: ("roleName",),
    hive.RolePrincipalGrant: ("roleName", "principalName", "principalType"),
    hive.SQLCheckConstraint: ("dc_name",),
    hive.SQLDefaultConstraint: ("dc_name",),
    hive.SQLForeignKey: ("fk_name", "pktable_db", "pktable_name"),
    hive.SQLNotNullConstraint: ("nn_name",),
    hive.SQLPrimaryKey: ("pk_name",),
    hive.SQLUniqueConstraint: ("uk_name",),
    hive.Table: ("tableName",),
    hive.TableStatsResult: ("tableStats",),
    hive.TableValidWriteIds: ("writeIdHighWaterMark",),
    hive.TxnInfo: ("id", "state"),
    hive.UniqueConstraintsResponse: ("uniqueConstraints",),
}
"""Fields that the import cannot do without. Others get defaults."""


class InvalidReplyError(UnavailableError):
    """A reply of the source lacks a field."""


def check_reply(address: str, method: str, arguments: Iterable[Any], reply: Any) -> None:
    """Raises InvalidReplyError if the reply lacks a field. Descriptors of partitions are not checked: they are many,
    and most are equal (`check_descriptor`)."""
    if path := missing_field(reply):
        raise invalid_reply(address, shown_call(method, arguments), path)


def shown_call(method: str, arguments: Iterable[Any]) -> str:
    """Returns a call as people read it."""
    return f"{method}({', '.join(_texts(arguments))})"


def shown_object(what: str, one: Any) -> str:
    """Returns a key of an object among others, from its first texts."""
    texts = [text for text in _all_texts(one) if text][:_TEXTS]
    return f"{what}: {' '.join(texts)}" if texts else what


def check_descriptor(address: str, of: str, sd: hive.StorageDescriptor) -> None:
    """Raises InvalidReplyError if the storage descriptor of an object lacks a field."""
    if path := missing_field(sd):
        raise invalid_reply(address, of, f"sd.{path}")


def problem_of(one: Any) -> str:
    """Returns why an object that was read from a database cannot be imported; empty if it can."""
    for part in one if isinstance(one, tuple) else (one,):  # a tuple such as SourceConstraint has a struct among others
        if path := missing_field(part) or _mistyped(part):
            return f"no valid {path}"
    return ""


@cache
def _typed(kind: type) -> tuple[tuple[str, int], ...]:
    """Returns the fields of a struct that are texts or numbers."""
    return tuple((spec[2], spec[1]) for spec in kind.thrift_spec if spec and spec[1] in _TYPES)  # type: ignore[attr-defined] # generated


def _mistyped(value: Any) -> str:
    """Returns the path of a field that Thrift cannot represent; empty if there is none."""
    if isinstance(value, list):
        children: Iterable[tuple[Any, Any]] = enumerate(value) if value and not isinstance(value[0], str) else ()
    elif hasattr(value, "thrift_spec"):
        for name, kind in _typed(value.__class__):
            field = getattr(value, name)
            if field is not None and not (isinstance(field, _TYPES[kind]) and (kind != TType.I32 or field in _I32)):
                return f"{name}: {field!r:.40}"
        skipped = "sd" if isinstance(value, hive.Partition) else ""
        children = ((name, getattr(value, name)) for name in value.__slots__ if name != skipped)
    else:
        return ""
    for name, child in children:
        if child is not None and (path := _mistyped(child)):
            return f"{name}.{path}"
    return ""


@contextmanager
def converting(address: str, what: str) -> Iterator[None]:
    """Raises UnavailableError for a row with values that Hive does not write: null, too large, of another type.

    A fault of this program can raise the same errors, so the debug log has the traceback.
    """
    try:
        yield
    except INVALID as error:
        log.debug("%s: reading or storing %s failed", address, what, exc_info=True)
        raise UnavailableError(
            f"{address}: a row of {what} is not as Hive writes it ({type(error).__name__}: "
            f"{str(error).partition(chr(10))[0][:_SHOWN]}). Correct or delete it"
        ) from error


def invalid_reply(address: str, what: str, path: str) -> InvalidReplyError:
    """Returns the error about a reply. `what`: the call; `path`: the field."""
    return InvalidReplyError(
        f"{address}: the reply to {what} has no valid {path}. Correct this object of the source, or import from the "
        f"source's database"
    )


def missing_field(value: Any) -> str:
    """Returns the path of a needed field without a value; empty if there is none."""
    if isinstance(value, list):
        if None in value:
            return str(value.index(None))
        children: Iterable[tuple[Any, Any]] = enumerate(value) if value and not isinstance(value[0], str) else ()
    elif isinstance(value, dict):
        children = value.items() if not isinstance(next(iter(value.values()), ""), str) else ()
    elif hasattr(value, "thrift_spec"):
        for name in _NEEDED.get(value.__class__, ()):
            if getattr(value, name) in (None, ""):
                return name
        skipped = "sd" if isinstance(value, hive.Partition) else ""
        children = ((name, getattr(value, name)) for name in value.__slots__ if name != skipped)
    else:
        return ""
    for name, child in children:
        if child is not None and (path := missing_field(child)):
            return f"{name}.{path}"
    return ""


def _texts(arguments: Iterable[Any]) -> Iterable[str]:
    """Yields the texts among the arguments of a call, and the first text of each list."""
    for one in arguments:
        if isinstance(one, str):
            yield one
        elif isinstance(one, list):
            yield from _texts(one[:1])
        elif hasattr(one, "thrift_spec"):
            yield from _texts(getattr(one, name) for name in one.__slots__)


def _all_texts(one: Any) -> Iterable[str]:
    """Yields the texts of a struct, in the order of its fields."""
    if isinstance(one, str):
        yield one
    elif isinstance(one, list):
        for each in one:
            yield from _all_texts(each)
    elif hasattr(one, "thrift_spec"):
        for name in one.__slots__:
            yield from _all_texts(getattr(one, name))
