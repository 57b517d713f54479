"""Requirements for scans and for writes of Spark clients."""

from __future__ import annotations

from collections.abc import Iterable

from metastore.domain.names import TableName, table_name
from metastore.domain.permissions import (
    LocationPrivilege,
    RequiredPrivilege,
    WriteAccess,
)
from metastore.domain.privileges import Right
from metastore.domain.query_ids import is_registered_form, names_write
from metastore.operations.locations import locations_in
from metastore.operations.requirements import Requirements
from thrift_idl.gen.metastore.ttypes import PublishMode, PublishRequest, ScanRequest


def scanned_table(scan: ScanRequest | None) -> Requirements:
    """SELECT on the table of a scan."""
    if scan is not None:
        yield RequiredPrivilege(table_name(scan.dbName, scan.tableName, scan.catName), (Right.SELECT,))


def begun_write(table: TableName, overwrites: bool | None) -> Requirements:
    """INSERT on the table; DELETE if the writer says that it removes files."""
    yield RequiredPrivilege(table, (Right.INSERT,))
    if overwrites:
        yield RequiredPrivilege(table, (Right.DELETE,))


def own_write(query_id: str | None) -> Requirements:
    """The caller began the write, and has INSERT on the table that it writes to."""
    yield WriteAccess(query_id or "", (Right.INSERT,))


def ended_write(query_id: str | None) -> Requirements:
    """The caller began the write, or owns the table that it writes to."""
    yield WriteAccess(query_id or "", (Right.INSERT,), ends=True)


def publication(request: PublishRequest) -> Requirements:
    """INSERT on the table; DELETE if partitions are overwritten, or locations are retired that are not the write's own;
    the right to the published locations; the caller's own write. Older clients publish without a registered write.
    """
    name = table_name(request.dbName, request.tableName, request.catName)
    partitions = [partition for partition in request.partitions or () if partition is not None]
    yield RequiredPrivilege(name, (Right.INSERT,))
    query_id = request.queryId or ""
    is_registered = is_registered_form(query_id)
    retires = any(text and not (is_registered and names_write(text, query_id)) for text in request.retired or ())
    if retires or any(partition.mode == PublishMode.OVERWRITE for partition in partitions):
        yield RequiredPrivilege(name, (Right.DELETE,))
    yield LocationPrivilege(name.parent, name, locations_in(*partitions))
    if is_registered:
        yield from own_write(query_id)


def publications(requests: Iterable[PublishRequest] | None) -> Requirements:
    """The requirements of `publication`, for several tables."""
    for request in requests or ():
        yield from publication(request)
