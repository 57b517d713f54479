"""Handlers of databases."""

from __future__ import annotations

from metastore.domain.names import DEFAULT_CATALOG
from metastore.encoding.binary import EncodedStruct
from metastore.handlers.arguments import database_name, database_pattern, required, required_database_name
from metastore.operations.answer_filters import database_objects, databases
from metastore.operations.assignments import set_database_owner
from metastore.operations.audit_details import parameters
from metastore.operations.fields import DatabaseFields
from metastore.operations.operation import TARGET, change, from_fields, operation, visible
from metastore.operations.requirements.databases import altered_database, dropped_database, new_database
from metastore.services.databases import DatabaseService
from thrift_idl.gen.hive_metastore.ttypes import (
    AlterDatabaseRequest,
    CreateDatabaseRequest,
    Database,
    DropDatabaseRequest,
    GetDatabaseObjectsRequest,
    GetDatabaseObjectsResponse,
    GetDatabaseRequest,
)

_DATABASE = DatabaseFields("name")


class DatabaseHandlers:
    """`*_database*`."""

    def __init__(self, databases: DatabaseService) -> None:
        self._databases = databases

    @change(
        DatabaseFields("database.name", "database.catalogName"),
        from_fields(new_database, "database"),
        assignments=from_fields(set_database_owner, "database"),
        audit_detail=from_fields(parameters, "database.parameters"),
    )
    def create_database(self, database: Database) -> None:
        name = required_database_name(database.name, database.catalogName)
        database.name = name.name
        self._databases.create(name.catalog, database)

    @change(
        DatabaseFields("createDatabaseRequest.databaseName", "createDatabaseRequest.catalogName"),
        from_fields(new_database, "createDatabaseRequest"),
        assignments=from_fields(set_database_owner, "createDatabaseRequest"),
        audit_detail=from_fields(parameters, "createDatabaseRequest.parameters"),
    )
    def create_database_req(self, request: CreateDatabaseRequest) -> None:
        self.create_database(
            Database(
                name=request.databaseName,
                description=request.description,
                locationUri=request.locationUri,
                parameters=request.parameters,
                ownerName=request.ownerName,
                ownerType=request.ownerType,
                catalogName=request.catalogName,
                managedLocationUri=request.managedLocationUri,
                type=request.type,
                connector_name=request.dataConnectorName,
                remote_dbname=request.remote_dbname,
            )
        )

    @operation(_DATABASE, visible)
    def get_database(self, name: str) -> EncodedStruct[Database]:
        return self._databases.get(required_database_name(name))

    @operation(DatabaseFields("request.name", "request.catalogName"), visible)
    def get_database_req(self, request: GetDatabaseRequest) -> EncodedStruct[Database]:
        return self._databases.get(required_database_name(request.name, request.catalogName))

    @operation(DatabaseFields("pattern"), answer_filter=from_fields(databases, TARGET))
    def get_databases(self, pattern: str | None) -> list[str]:
        return self._databases.names(*database_pattern(pattern))

    @operation(
        DatabaseFields("request.pattern", "request.catalogName"), answer_filter=from_fields(database_objects, TARGET)
    )
    def get_databases_req(self, request: GetDatabaseObjectsRequest) -> GetDatabaseObjectsResponse:
        catalog, pattern = database_pattern(request.pattern, request.catalogName)
        return GetDatabaseObjectsResponse(self._databases.matching(catalog, pattern))

    @operation(None, answer_filter=databases)
    def get_all_databases(self) -> list[str]:
        return self._databases.names(DEFAULT_CATALOG, None)

    @change(
        DatabaseFields("dbname"),
        from_fields(altered_database, "dbname", "db"),
        audit_detail=from_fields(parameters, "db.parameters"),
    )
    def alter_database(self, name: str, database: Database) -> None:
        self._databases.alter(database_name(name, database.catalogName), database)

    @change(
        DatabaseFields("alterDbReq.oldDbName"),
        from_fields(altered_database, "alterDbReq.oldDbName", "alterDbReq.newDb"),
        audit_detail=from_fields(parameters, "alterDbReq.newDb.parameters"),
    )
    def alter_database_req(self, request: AlterDatabaseRequest) -> None:
        self.alter_database(request.oldDbName, required("newDb", request.newDb))

    @change(_DATABASE, from_fields(dropped_database, TARGET, "cascade"))
    def drop_database(self, name: str, delete_data: bool, cascade: bool) -> None:
        self._databases.drop(required_database_name(name), delete_data=bool(delete_data), cascade=bool(cascade))

    @change(
        DatabaseFields("req.name", "req.catalogName"),
        from_fields(dropped_database, TARGET, "req.cascade"),
        missing_ok="req.ignoreUnknownDb",
    )
    def drop_database_req(self, request: DropDatabaseRequest) -> None:
        self._databases.drop(
            required_database_name(request.name, request.catalogName),
            delete_data=bool(request.deleteData),
            cascade=bool(request.cascade),
            if_exists=bool(request.ignoreUnknownDb),
        )
