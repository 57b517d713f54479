"""Handlers of our own service that delete unused files, and that compare files with the catalog."""

from __future__ import annotations

from datetime import timedelta

from metastore.handlers.arguments import table_name
from metastore.operations.fields import TableFields
from metastore.operations.operation import TARGET, change, from_fields
from metastore.operations.requirements.drops import cleaned
from metastore.services.cleaning import CleaningService
from metastore.services.file_check import FileCheckService
from thrift_idl.gen.metastore.ttypes import CheckFilesRequest, CheckFilesResult, CleanRequest, CleanResult

_LONGEST = 10**15  # milliseconds: longer than any file is kept

_REQUESTED_TABLE = TableFields("request.dbName", "request.tableName", "request.catName")


class CleaningHandlers:
    """`clean` and `check_files`."""

    def __init__(self, cleaning: CleaningService, checking: FileCheckService) -> None:
        self._cleaning = cleaning
        self._checking = checking

    @change(_REQUESTED_TABLE, from_fields(cleaned, TARGET))
    def check_files(self, request: CheckFilesRequest) -> CheckFilesResult:
        name = table_name(request.dbName, request.tableName, request.catName)
        return self._checking.check(name, repair=bool(request.repair))

    @change(_REQUESTED_TABLE, from_fields(cleaned, TARGET))
    def clean(self, request: CleanRequest) -> CleanResult:
        name = table_name(request.dbName, request.tableName, request.catName)
        millis = request.graceMillis
        grace = None if millis is None else timedelta(milliseconds=max(-1, min(millis, _LONGEST)))
        dry_run, unregistered = bool(request.dryRun), bool(request.unregistered)
        return self._cleaning.clean(name, dry_run=dry_run, grace=grace, unregistered=unregistered)
