"""Policies of tables, and retention, for the commands and for Spark: drops expired partitions, some at a time."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any, Final, NamedTuple

from metastore.client.care_record import recorded
from metastore.client.lease import leased
from metastore.domain.care import Setting, resolve
from metastore.domain.care_plan import RETENTION
from thrift_idl.gen.hive_metastore.ttypes import GetCatalogRequest
from thrift_idl.gen.metastore.ttypes import CarePartition, CarePartitionsRequest, ExpirePartitionsRequest

_BATCH: Final = 1000  # partitions of one call, which is one drop
DROPPED: Final = "dropped"
WOULD_BE_DROPPED: Final = "would be dropped"
HELD: Final = "kept: partitions of dependent tables rest on it"


class ExpiredPartition(NamedTuple):
    """An expired partition. `outcome`: DROPPED, WOULD_BE_DROPPED or HELD. Figures are None if unknown."""

    name: str
    files: int | None
    bytes: int | None
    outcome: str


def policies_of(methods: Any, database: str, table: Any) -> list[Setting]:
    """Returns the policies that apply to a table of this database. Hive's metastore 2.3 has no catalogs."""
    parent = methods.get_database(database)
    catalog = methods.get_catalog(GetCatalogRequest(table.catName)).catalog.parameters if table.catName else None
    return resolve([key.name for key in table.partitionKeys], table.parameters, parent.parameters, catalog)


def expire(methods: Any, database: str, table: str, *, dry_run: bool) -> Iterator[ExpiredPartition]:
    """Drops the expired partitions of a table, and yields them with those that are kept.

    Each call drops up to 1000 partitions in one transaction, so that the program can be stopped at any time. Unless it
    is a dry run, this program holds the lease of the table meanwhile.

    Args:
        methods: `MetastoreClient.methods`.
        database, table: the table.
        dry_run: drops nothing.

    Raises LeaseHeldError if another program cares for the table, and the errors of the client, such as
    MetastoreRefusedError for a table without retention.
    """
    if dry_run:
        yield from chain.from_iterable(_pages(methods, database, table, dry_run=True))
    else:
        yield from recorded(methods, database, table, RETENTION, _expire(methods, database, table))


def _expire(methods: Any, database: str, table: str) -> Iterator[ExpiredPartition]:
    with leased(methods, database, table, RETENTION) as lease:
        for page in _pages(methods, database, table, dry_run=False):
            yield from page
            lease.check()


def _pages(methods: Any, database: str, table: str, *, dry_run: bool) -> Iterator[list[ExpiredPartition]]:
    after = ""
    while True:
        if dry_run:
            request = CarePartitionsRequest(database, table, kind=RETENTION, after=after, limit=_BATCH)
            page = [(one, HELD if one.held else WOULD_BE_DROPPED) for one in methods.get_care_partitions(request)]
        else:
            result = methods.expire_partitions(ExpirePartitionsRequest(database, table, after=after, limit=_BATCH))
            page = [*((one, DROPPED) for one in result.dropped), *((one, HELD) for one in result.held)]
        yield [_expired(one, outcome) for one, outcome in sorted(page, key=lambda each: str(each[0].name))]
        if len(page) < _BATCH:
            return
        after = max(one.name for one, _ in page)


def _expired(partition: CarePartition, outcome: str) -> ExpiredPartition:
    return ExpiredPartition(partition.name, partition.files, partition.bytes, outcome)
