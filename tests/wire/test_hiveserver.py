"""Data that HiveServer2 stores in a metastore for itself: this server answers as an unused Hive would."""

from __future__ import annotations

from typing import Any

import pytest
from thrift.Thrift import TApplicationException

from thrift_idl.gen.hive_metastore.ttypes import (
    FindSchemasByColsRqst,
    GetDataConnectorRequest,
    GetFileMetadataByExprRequest,
    GetFileMetadataRequest,
    GetPackageRequest,
    GetReplicationMetricsRequest,
    GetSerdeRequest,
    ISchemaName,
    ListPackageRequest,
    ListStoredProcedureRequest,
    NoSuchObjectException,
    PropertyGetRequest,
    PropertySetRequest,
    ScheduledQueryKey,
    ScheduledQueryPollRequest,
    ScheduledQueryPollResponse,
    SchemaVersionDescriptor,
    StoredProcedureRequest,
    WMGetActiveResourcePlanRequest,
    WMGetActiveResourcePlanResponse,
    WMGetAllResourcePlanRequest,
    WMGetResourcePlanRequest,
)


def test_nothing_is_planned(hive_client: Any) -> None:
    plan = hive_client.get_active_resource_plan(WMGetActiveResourcePlanRequest("default"))
    assert plan == WMGetActiveResourcePlanResponse()
    poll = hive_client.scheduled_query_poll(ScheduledQueryPollRequest("hive"))
    assert poll == ScheduledQueryPollResponse()


def test_lists_are_empty(hive_client: Any) -> None:
    c = hive_client
    assert c.get_all_resource_plans(WMGetAllResourcePlanRequest("default")).resourcePlans == []
    assert c.get_replication_metrics(GetReplicationMetricsRequest(policy="p")).replicationMetricList == []
    assert c.get_replayed_txns_for_policy("p").replTxnMapEntry == {}
    assert c.get_properties(PropertyGetRequest("ns")).properties == {}
    assert c.get_all_stored_procedures(ListStoredProcedureRequest("hive")) == []
    assert c.get_all_packages(ListPackageRequest("hive")) == []
    assert c.get_dataconnectors() == []
    assert c.get_schemas_by_cols(FindSchemasByColsRqst(colName="a")).schemaVersions == []
    for each in (
        c.get_file_metadata(GetFileMetadataRequest([1])),
        c.get_file_metadata_by_expr(GetFileMetadataByExprRequest([1], b"")),
    ):
        assert (each.metadata, each.isSupported) == ({}, False)


@pytest.mark.parametrize(
    "method",
    [
        lambda c: c.get_resource_plan(WMGetResourcePlanRequest("p")),
        lambda c: c.get_scheduled_query(ScheduledQueryKey("q", "hive")),
        lambda c: c.get_stored_procedure(StoredProcedureRequest("hive", "default", "p")),
        lambda c: c.find_package(GetPackageRequest("hive", "default", "p")),
        lambda c: c.get_dataconnector_req(GetDataConnectorRequest("c")),
        lambda c: c.get_ischema(ISchemaName("hive", "default", "s")),
        lambda c: c.get_schema_version(SchemaVersionDescriptor(ISchemaName("hive", "default", "s"), 1)),
        lambda c: c.get_schema_latest_version(ISchemaName("hive", "default", "s")),
        lambda c: c.get_schema_all_versions(ISchemaName("hive", "default", "s")),
        lambda c: c.get_serde(GetSerdeRequest("s")),
    ],
)
def test_named_objects_do_not_exist(hive_client: Any, method: Any) -> None:
    with pytest.raises(NoSuchObjectException):
        method(hive_client)


def test_nothing_is_taken_that_would_not_be_kept(hive_client: Any) -> None:
    with pytest.raises(TApplicationException, match="Invalid method name: 'set_properties'"):
        hive_client.set_properties(PropertySetRequest("ns", {"a": "b"}))
