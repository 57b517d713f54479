"""Handlers of commits of Iceberg tables."""

from __future__ import annotations

from metastore.errors import InvalidInputError
from metastore.handlers.arguments import required
from metastore.operations.assignments import set_committed_owners
from metastore.operations.audit_details import committed
from metastore.operations.fields import TableFields
from metastore.operations.operation import change, from_fields
from metastore.operations.requirements.tables import committed_tables
from metastore.services.table_commits import TableCommit, TableCommitService
from thrift_idl.gen.metastore.ttypes import TableCommit as Request


class TableCommitHandlers:
    """`commit_tables`."""

    def __init__(self, commits: TableCommitService) -> None:
        self._commits = commits

    @change(
        TableFields("commits.0.table.dbName", "commits.0.table.tableName", "commits.0.table.catName"),
        from_fields(committed_tables, "commits"),
        assignments=from_fields(set_committed_owners, "commits"),
        audit_detail=from_fields(committed, "commits"),
    )
    def commit_tables(self, commits: list[Request] | None) -> None:
        if not commits:
            raise InvalidInputError("commit_tables was called without commits")
        self._commits.commit([TableCommit(required("table", each.table), each.expected) for each in commits])
