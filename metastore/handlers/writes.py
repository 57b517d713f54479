"""Handlers of our own service that leases writes, and publishes their files."""

from __future__ import annotations

from metastore.errors import InvalidInputError
from metastore.handlers.arguments import required, table_name
from metastore.operations.fields import TableFields
from metastore.operations.operation import TARGET, change, from_fields, operation
from metastore.operations.requirements.writes import begun_write, ended_write, own_write, publication, publications
from metastore.services.publishing import Publication, PublishingService
from metastore.services.writes import WriteService
from thrift_idl.gen.metastore.ttypes import (
    BeginWriteRequest,
    PublishRequest,
    PublishResult,
    RenewWriteRequest,
    RenewWriteResult,
    WriteLease,
)

_LEASE = 60_000  # milliseconds

_REQUESTED_TABLE = TableFields("request.dbName", "request.tableName", "request.catName")


class WriteHandlers:
    """`begin_write`, `renew_write`, `end_write`, `publish`, `publish_all`."""

    def __init__(self, writes: WriteService, publishing: PublishingService) -> None:
        self._writes = writes
        self._publishing = publishing

    @change(_REQUESTED_TABLE, from_fields(begun_write, TARGET, "request.overwrites"))
    def begin_write(self, request: BeginWriteRequest) -> WriteLease:
        name = table_name(request.dbName, request.tableName, request.catName)
        lease = _LEASE if request.leaseMillis is None else request.leaseMillis
        if None in (shared := request.shared or []):
            raise InvalidInputError("A location of begin_write is unset")
        query_id, granted = self._writes.begin(name, lease, request.directory, shared)
        return WriteLease(query_id, lease, granted)

    @operation("request.queryId", from_fields(own_write, "request.queryId"), served_read_only=False, quota_exempt=True)
    def renew_write(self, request: RenewWriteRequest) -> RenewWriteResult:
        query_id = required("queryId", request.queryId)
        renames = [(rename.source, rename.target) for rename in request.renames or [] if rename is not None]
        texts = [*(request.locations or []), *(request.shared or []), *(end for rename in renames for end in rename)]
        if None in texts:
            raise InvalidInputError("A location or rename of renew_write is unset")
        granted = self._writes.renew(query_id, request.locations or [], request.shared or [], renames)
        return RenewWriteResult(granted)

    @change("queryId", from_fields(ended_write, "queryId"), quota_exempt=True)
    def end_write(self, query_id: str | None) -> None:
        self._writes.end(required("queryId", query_id))

    @change(_REQUESTED_TABLE, from_fields(publication, "request"), entries="request.partitions")
    def publish(self, request: PublishRequest) -> PublishResult:
        return self.publish_all([request])[0]

    @change(
        TableFields("requests.0.dbName", "requests.0.tableName", "requests.0.catName"),
        from_fields(publications, "requests"),
    )
    def publish_all(self, requests: list[PublishRequest] | None) -> list[PublishResult]:
        return self._publishing.publish([_publication(request) for request in requests or []])


def _publication(request: PublishRequest) -> Publication:
    name = table_name(request.dbName, request.tableName, request.catName)
    retired = [text for text in request.retired or [] if text]
    return Publication(name, request.queryId or "", request.partitions or [], retired, request.layout)
