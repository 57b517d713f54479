"""Handlers of our own service that restores dropped objects."""

from __future__ import annotations

from metastore.domain.names import DEFAULT_CATALOG, fold
from metastore.handlers.arguments import table_name
from metastore.operations.fields import DatabaseFields, TableFields
from metastore.operations.operation import TARGET, change, from_fields, operation
from metastore.operations.requirements.drops import dropped_objects, undropped
from metastore.services.undrop import UndropService, UndropTarget
from thrift_idl.gen.metastore.ttypes import DroppedObject, DroppedRequest, UndropRequest, UndropResult


class UndropHandlers:
    """`dropped` and `undrop`."""

    def __init__(self, undrop: UndropService) -> None:
        self._undrop = undrop

    @operation(DatabaseFields("request.dbName", "request.catName"), from_fields(dropped_objects, TARGET))
    def dropped(self, request: DroppedRequest) -> list[DroppedObject]:
        drops = self._undrop.dropped(fold(request.catName) or DEFAULT_CATALOG, fold(request.dbName) or None)
        return [
            DroppedObject(
                id=drop.id,
                kind=drop.kind,
                dbName=drop.database,
                tableName=drop.name or None,
                partitions=drop.partitions,
                droppedAt=int(drop.dropped_at.timestamp()),
                keptUntil=int(drop.kept_until.timestamp()),
                user=drop.dropped_by,
                address=drop.dropped_from,
                files=files,
                bytes=size,
                partitionNames=list(drop.names),
            )
            for drop, files, size in drops
        ]

    @change(
        TableFields("request.dbName", "request.tableName", "request.catName"),
        from_fields(undropped, TARGET, "request.newName"),
    )
    def undrop(self, request: UndropRequest) -> UndropResult:
        name = table_name(request.dbName, request.tableName, request.catName)
        target = UndropTarget(name, request.partition or "", fold(request.newName), request.id)
        restored = self._undrop.undrop(target)
        return UndropResult(restored.kind, restored.table.database, restored.table.name or None, restored.partitions)
