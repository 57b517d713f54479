"""Handlers of objects that only HiveServer2 uses: resource plans, scheduled queries, procedures, schemas and others.
This metastore does not store them.
"""

from __future__ import annotations

from metastore.errors import NotFoundError
from metastore.operations.fields import DatabaseFields
from metastore.operations.operation import operation
from thrift_idl.gen.hive_metastore.ttypes import (
    DataConnector,
    FindSchemasByColsResp,
    FindSchemasByColsRqst,
    GetDataConnectorRequest,
    GetFileMetadataByExprRequest,
    GetFileMetadataByExprResult,
    GetFileMetadataRequest,
    GetFileMetadataResult,
    GetPackageRequest,
    GetReplicationMetricsRequest,
    GetSerdeRequest,
    ISchema,
    ISchemaName,
    ListPackageRequest,
    ListStoredProcedureRequest,
    Package,
    PropertyGetRequest,
    PropertyGetResponse,
    ReplayedTxnsForPolicyResult,
    ReplicationMetricList,
    ScheduledQuery,
    ScheduledQueryKey,
    ScheduledQueryPollRequest,
    ScheduledQueryPollResponse,
    SchemaVersion,
    SchemaVersionDescriptor,
    SerDeInfo,
    StoredProcedure,
    StoredProcedureRequest,
    WMGetActiveResourcePlanRequest,
    WMGetActiveResourcePlanResponse,
    WMGetAllResourcePlanRequest,
    WMGetAllResourcePlanResponse,
    WMGetResourcePlanRequest,
    WMGetResourcePlanResponse,
)

_REQUESTED_DATABASE = DatabaseFields("request.dbName", "request.catName")


class HiveServerHandlers:
    """Answers as a metastore without such objects: lists are empty, and named objects do not exist."""

    @operation(None)
    def get_active_resource_plan(self, _: WMGetActiveResourcePlanRequest) -> WMGetActiveResourcePlanResponse:
        return WMGetActiveResourcePlanResponse()

    @operation(None)
    def get_all_resource_plans(self, _: WMGetAllResourcePlanRequest) -> WMGetAllResourcePlanResponse:
        return WMGetAllResourcePlanResponse(resourcePlans=[])

    @operation(None)
    def get_resource_plan(self, request: WMGetResourcePlanRequest) -> WMGetResourcePlanResponse:
        raise NotFoundError(f"There is no resource plan named: {request.resourcePlanName}")

    @operation(None)
    def scheduled_query_poll(self, _: ScheduledQueryPollRequest) -> ScheduledQueryPollResponse:
        return ScheduledQueryPollResponse()

    @operation(None)
    def get_scheduled_query(self, key: ScheduledQueryKey) -> ScheduledQuery:
        raise NotFoundError(f"There is no scheduled query for: {key.scheduleName} in {key.clusterNamespace}")

    @operation(None)
    def get_replication_metrics(self, _: GetReplicationMetricsRequest) -> ReplicationMetricList:
        return ReplicationMetricList([])

    @operation(None)
    def get_replayed_txns_for_policy(self, _: str | None) -> ReplayedTxnsForPolicyResult:
        return ReplayedTxnsForPolicyResult({})

    @operation(None)
    def get_properties(self, _: PropertyGetRequest) -> PropertyGetResponse:
        return PropertyGetResponse({})

    @operation(_REQUESTED_DATABASE)
    def get_all_stored_procedures(self, _: ListStoredProcedureRequest) -> list[str]:
        return []

    @operation(_REQUESTED_DATABASE)
    def get_stored_procedure(self, request: StoredProcedureRequest) -> StoredProcedure:
        raise NotFoundError(f"There is no stored procedure {request.procName} in {request.dbName}")

    @operation(_REQUESTED_DATABASE)
    def get_all_packages(self, _: ListPackageRequest) -> list[str]:
        return []

    @operation(_REQUESTED_DATABASE)
    def find_package(self, request: GetPackageRequest) -> Package:
        raise NotFoundError(f"There is no package {request.packageName} in {request.dbName}")

    @operation(None)
    def get_dataconnectors(self) -> list[str]:
        return []

    @operation(None)
    def get_dataconnector_req(self, request: GetDataConnectorRequest) -> DataConnector:
        raise NotFoundError(f"Dataconnector named {request.connectorName} does not exist")

    @operation(None)
    def get_ischema(self, name: ISchemaName) -> ISchema:
        raise NotFoundError(f"No schema {_schema(name)} exists")

    @operation(None)
    def get_schema_version(self, version: SchemaVersionDescriptor) -> SchemaVersion:
        raise NotFoundError(f"No schema version {_schema(version.schema)} {version.version} exists")

    @operation(None)
    def get_schema_latest_version(self, name: ISchemaName) -> SchemaVersion:
        raise NotFoundError(f"No versions of schema {_schema(name)} exist")

    @operation(None)
    def get_schema_all_versions(self, name: ISchemaName) -> list[SchemaVersion]:
        raise NotFoundError(f"No versions of schema {_schema(name)} exist")

    @operation(None)
    def get_schemas_by_cols(self, _: FindSchemasByColsRqst) -> FindSchemasByColsResp:
        return FindSchemasByColsResp([])

    @operation(None)
    def get_serde(self, request: GetSerdeRequest) -> SerDeInfo:
        raise NotFoundError(f"No serde named {request.serdeName} exists")

    @operation(None)
    def get_file_metadata(self, _: GetFileMetadataRequest) -> GetFileMetadataResult:
        return GetFileMetadataResult({}, isSupported=False)

    @operation(None)
    def get_file_metadata_by_expr(self, _: GetFileMetadataByExprRequest) -> GetFileMetadataByExprResult:
        return GetFileMetadataByExprResult({}, isSupported=False)


def _schema(name: ISchemaName | None) -> str:
    return f"{name.dbName}.{name.schemaName}" if name else "without a name"
