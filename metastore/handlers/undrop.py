"""Our own service: taking back what was dropped."""

from __future__ import annotations

from metastore.domain.names import DEFAULT_CATALOG, fold
from metastore.handlers.arguments import table_name
from metastore.services.entry.undrop import UndropService, Wanted
from thrift_idl.gen.metastore.ttypes import DroppedObject, DroppedRequest, UndropRequest, UndropResult


class UndropHandlers:
    """`dropped` and `undrop`."""

    def __init__(self, undrop: UndropService) -> None:
        self._undrop = undrop

    def dropped(self, request: DroppedRequest) -> list[DroppedObject]:
        found = self._undrop.dropped(fold(request.catName) or DEFAULT_CATALOG, fold(request.dbName) or None)
        return [
            DroppedObject(
                id=each.id,
                kind=each.kind,
                dbName=each.database,
                tableName=each.name or None,
                partitions=each.partitions,
                droppedAt=int(each.dropped_at.timestamp()),
                keptUntil=int(each.kept_until.timestamp()),
                user=each.dropped_by,
                address=each.dropped_from,
                files=files,
                bytes=size,
            )
            for each, files, size in found
        ]

    def undrop(self, request: UndropRequest) -> UndropResult:
        name = table_name(request.dbName, request.tableName, request.catName)
        wanted = Wanted(name, request.partition or "", fold(request.newName), request.id)
        back = self._undrop.undrop(wanted)
        return UndropResult(back.kind, back.table.database, back.table.name or None, back.partitions)
