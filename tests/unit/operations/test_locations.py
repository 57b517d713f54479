"""Every location in a call is checked: all fields and properties of every struct of every method."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from thrift.Thrift import TType

from metastore.domain.location_properties import READERS, named_locations, unknown_locations
from metastore.domain.permissions import Administrator, LocationPrivilege, WriteAccess
from metastore.handlers.registry import served
from metastore.operations.locations import locations_in
from thrift_idl.gen.hive_metastore.ttypes import (
    CreationMetadata,
    EnvironmentContext,
    SerDeInfo,
    StorageDescriptor,
    Table,
)

FOREIGN = "s3a://bucket/foreign"
# Fields that hold no location. A foreign location is tried in all other texts, so also in those of a later IDL.
_NAMES = """
    after authorizer baseDbName baseTableName base_tbl_name batchPartitionValsForRefresh bucketCols catName cat_name
    catalog catalogName check_expression className col colName colType col_name col_names columnName column_name
    comment connector_name constraintname dataConnectorName database databaseName db dbName db_name dbname dc_name
    default_value delegation_token description deserializerClass dest_db dest_table_name engine errorMessage
    expected expectedParameterKey expectedParameterValue filesAddedChecksum fk_name fkcolumn_name fktable_db
    fktable_name foreignFiles
    funcName functionName grantor hostName idx_name indexHandlerClass indexName indexTableName index_name
    initiatorId initiatorVersion inputFormat jobId key kind name names newName nn_name objectName oldDbName
    orderByClause
    origTableName outputFormat owner ownerName partName partNames partVals partValues part_name part_names part_vals
    partition partitionList partitionObj partitionVal partitionVals partitionname partitionnames partitions pk_name
    pkcolumn_name pktable_db pktable_name poolName poolname principalName principal_name privilege
    processorCapabilities processorIdentifier queryId reason remote_dbname renewer_kerberos_principal_name replPolicy
    requiredReadCapabilities requiredWriteCapabilities roleName role_name runas serializationLib serializerClass
    skewedColNames source_db source_table_name state table tableName tableObj tableType table_db table_name tablename
    tablesUsed tblName tbl_name token_identifier token_owner token_str_form type type1 type2 uk_name user validTxnList
    validWriteIdList validWriteIdlist value values viewExpandedText viewOriginalText workerId workerVersion
"""
OTHER_TEXTS = frozenset(_NAMES.split())
OTHER_MAPS = ("partitionSpecs", "tblParams")
# The service rejects locations that are not those of the write's table, regardless of the caller's rights.
OF_WRITES = frozenset(("directory", "shared", "retired"))
NO_LOCATIONS = {
    "commit_txn": "the list of written files is not stored",
    "compact": "its properties are settings of the compactor",
    "compact2": "its properties are settings of the compactor",
    "markPartitionForEvent": "its map holds partition values",
    "update_creation_metadata": "only the names of its source tables are stored",
}


def struct_with(struct: Any, holder: str, depth: int = 0) -> Iterator[Any]:
    """Yields structs in which one field has a foreign location; all other texts are ordinary names."""
    specs = [spec for spec in struct.thrift_spec if spec is not None]
    for spec in specs:
        for value in values_with(spec, depth):
            filled = {other[2]: plain(other, depth) for other in specs}
            yield struct(**filled | {spec[2]: value})


def values_with(spec: Any, depth: int) -> Iterator[Any]:
    _, kind, name, details, *_ = spec
    if kind == TType.STRING and details != "BINARY" and name not in OTHER_TEXTS | OF_WRITES:
        yield FOREIGN
    elif kind == TType.LIST and details[:2] == (TType.STRING, "UTF8") and name not in OTHER_TEXTS | OF_WRITES:
        yield [FOREIGN]
    elif kind == TType.MAP and name == "skewedColValueLocationMaps":
        yield {("1",): FOREIGN}
    elif kind == TType.MAP and (details[0], details[2]) == (TType.STRING, TType.STRING) and name not in OTHER_MAPS:
        yield {"Path": FOREIGN}
    elif kind == TType.STRUCT and details[0] not in (EnvironmentContext, CreationMetadata) and depth < 6:
        yield from struct_with(details[0], name, depth + 1)
    elif kind == TType.LIST and details[0] == TType.STRUCT and depth < 6:
        yield from ([inner] for inner in struct_with(details[1][0], name, depth + 1))


def plain(spec: Any, depth: int) -> Any:
    """Returns a value without a location, so that the requirements of the call can be computed."""
    _, kind, name, details, *_ = spec
    if kind == TType.STRING:
        return "a" if name in OTHER_TEXTS and "cat" not in name.lower() else None
    if kind == TType.STRUCT and depth < 4 and details[0] is not EnvironmentContext:
        inner = [other for other in details[0].thrift_spec if other is not None]
        return details[0](**{other[2]: plain(other, depth + 1) for other in inner})
    return None


CHANGES = [name for name, method in served().items() if method.operation.is_change and name not in NO_LOCATIONS]


@pytest.mark.parametrize("name", CHANGES)
def test_every_location_of_a_change_is_checked(name: str) -> None:
    method = served()[name]
    for arguments in struct_with(method.arguments, name):
        requirements = method.requirements(arguments)
        if any(isinstance(required, Administrator) for required in requirements):
            continue
        checked = [text for each in requirements if isinstance(each, LocationPrivilege) for text in each.locations]
        assert any(FOREIGN.startswith(text) or text.endswith(FOREIGN) for text in checked), f"{name}: {arguments}"


def test_the_methods_that_check_their_locations_themselves_are_bound_to_a_write() -> None:
    method = served()["renew_write"]
    arguments = method.arguments()
    arguments.request = type("Request", (), {"queryId": "q"})()
    assert [type(required) for required in method.requirements(arguments)] == [WriteAccess]


@pytest.mark.parametrize("name", sorted(READERS))
def test_known_properties_are_found_in_every_part_of_a_table(name: str) -> None:
    for spelling in (name, name.upper()):
        held = {spelling: FOREIGN}
        for new in (
            Table(parameters=held),
            Table(sd=StorageDescriptor(parameters=held)),
            Table(sd=StorageDescriptor(serdeInfo=SerDeInfo(parameters=held))),
        ):
            assert locations_in(new) == (FOREIGN,)


def test_other_properties_with_a_uri_are_unknown_locations() -> None:
    held = {"custom.root": "s3a://b/x", "a": "text", "jdbc.url": "jdbc:postgresql://h/d", "site": "https://x/y"}
    assert list(unknown_locations(held)) == [("custom.root", "s3a://b/x")]
    assert list(unknown_locations({"path": "s3a://b/x"})) == []
    assert list(named_locations({"avro.schema.url": "https://registry/schema"})) == []
    assert list(named_locations({"avro.schema.url": "none", "path": ""})) == []


def test_locations_are_found_as_clients_read_them() -> None:
    """Some clients decode URIs, and some properties have several locations."""
    assert list(named_locations({"avro.schema.url": "s3a://b/%68idden"})) == ["s3a://b/%68idden", "s3a://b/hidden"]
    assert list(named_locations({"data-file.external-paths": "s3a://b/x,s3a://b/y"})) == ["s3a://b/x", "s3a://b/y"]
