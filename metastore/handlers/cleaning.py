"""Our own service: cleaning."""

from __future__ import annotations

from datetime import timedelta

from metastore.handlers.arguments import table_name
from metastore.services.entry.cleaning import CleaningService
from thrift_idl.gen.metastore.ttypes import CleanRequest, CleanResult

_LONGEST = 10**15  # milliseconds: longer than anything was kept


class CleaningHandlers:
    """`clean`."""

    def __init__(self, cleaning: CleaningService) -> None:
        self._cleaning = cleaning

    def clean(self, request: CleanRequest) -> CleanResult:
        name = table_name(request.dbName, request.tableName, request.catName)
        millis = request.graceMillis
        grace = None if millis is None else timedelta(milliseconds=max(-1, min(millis, _LONGEST)))
        dry_run, unregistered = bool(request.dryRun), bool(request.unregistered)
        return self._cleaning.clean(name, dry_run=dry_run, grace=grace, unregistered=unregistered)
