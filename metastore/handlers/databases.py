"""Databases on the wire."""

from __future__ import annotations

from metastore.domain.names import DEFAULT_CATALOG
from metastore.encoding.binary import EncodedStruct
from metastore.handlers.arguments import database_name, database_pattern, given_database_name, required
from metastore.services.entry.databases import DatabaseService
from thrift_idl.gen.hive_metastore.ttypes import (
    AlterDatabaseRequest,
    CreateDatabaseRequest,
    Database,
    DropDatabaseRequest,
    GetDatabaseObjectsRequest,
    GetDatabaseObjectsResponse,
    GetDatabaseRequest,
)


class DatabaseHandlers:
    """`*_database*`."""

    def __init__(self, databases: DatabaseService) -> None:
        self._databases = databases

    def create_database(self, database: Database) -> None:
        name = given_database_name(database.name, database.catalogName)
        database.name = name.name
        self._databases.create(name.catalog, database)

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

    def get_database(self, name: str) -> EncodedStruct[Database]:
        return self._databases.get(given_database_name(name))

    def get_database_req(self, request: GetDatabaseRequest) -> EncodedStruct[Database]:
        return self._databases.get(given_database_name(request.name, request.catalogName))

    def get_databases(self, pattern: str | None) -> list[str]:
        return self._databases.names(*database_pattern(pattern))

    def get_databases_req(self, request: GetDatabaseObjectsRequest) -> GetDatabaseObjectsResponse:
        catalog, pattern = database_pattern(request.pattern, request.catalogName)
        return GetDatabaseObjectsResponse(self._databases.matching(catalog, pattern))

    def get_all_databases(self) -> list[str]:
        return self._databases.names(DEFAULT_CATALOG, None)

    def alter_database(self, name: str, database: Database) -> None:
        self._databases.alter(database_name(name, database.catalogName), database)

    def alter_database_req(self, request: AlterDatabaseRequest) -> None:
        self.alter_database(request.oldDbName, required("newDb", request.newDb))

    def drop_database(self, name: str, delete_data: bool, cascade: bool) -> None:
        self._databases.drop(given_database_name(name), delete_data=bool(delete_data), cascade=bool(cascade))

    def drop_database_req(self, request: DropDatabaseRequest) -> None:
        self._databases.drop(
            given_database_name(request.name, request.catalogName),
            delete_data=bool(request.deleteData),
            cascade=bool(request.cascade),
            if_exists=bool(request.ignoreUnknownDb),
        )
