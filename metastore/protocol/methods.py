"""The method table: what is served, per domain. One line a method group; the handler has a method of each name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from thrift.Thrift import TType

from thrift_idl.gen.fb303 import FacebookService
from thrift_idl.gen.hive_metastore import ThriftHiveMetastore
from thrift_idl.gen.hive_metastore.ttypes import EnvironmentContext
from thrift_idl.gen.metastore import Metastore

SERVED: dict[str, str] = {
    "base": """getName getVersion getStatus getStatusDetails getCounters getCounter setOption getOption getOptions
        getCpuProfile aliveSince reinitialize shutdown""",
    "config": "set_ugi getMetaConf setMetaConf get_config_value flushCache",
    "databases": """create_database create_database_req get_database get_database_req get_databases get_databases_req
        get_all_databases alter_database alter_database_req drop_database drop_database_req""",
    "tables": """create_table create_table_with_environment_context create_table_with_constraints create_table_req
        translate_table_dryrun get_table get_table_req get_table_objects_by_name get_table_objects_by_name_req
        get_all_tables get_tables get_tables_by_type get_tables_ext get_table_meta get_table_names_by_filter
        alter_table alter_table_with_environment_context alter_table_with_cascade alter_table_req
        drop_table drop_table_with_environment_context drop_table_req""",
    "fields": """get_fields get_fields_with_environment_context get_fields_req
        get_schema get_schema_with_environment_context get_schema_req""",
    "partitions_read": """get_partition get_partition_with_auth get_partition_req get_partition_by_name
        get_partitions get_partitions_with_auth get_partitions_req
        get_partitions_ps get_partitions_ps_with_auth get_partitions_ps_with_auth_req
        get_partitions_by_filter get_partitions_by_filter_req get_num_partitions_by_filter
        get_partitions_by_names get_partitions_by_names_req""",
    "partition_names": """get_partition_names fetch_partition_names_req
        get_partition_names_ps get_partition_names_ps_req
        partition_name_to_vals partition_name_to_spec partition_name_has_valid_characters""",
    "partitions_write": """add_partition add_partition_with_environment_context add_partitions add_partitions_req
        append_partition append_partition_with_environment_context append_partition_by_name
        append_partition_by_name_with_environment_context append_partition_req
        drop_partition drop_partition_with_environment_context drop_partition_by_name
        drop_partition_by_name_with_environment_context drop_partition_req drop_partitions_req
        alter_partition alter_partition_with_environment_context alter_partitions
        alter_partitions_with_environment_context alter_partitions_req rename_partition rename_partition_req""",
    "catalogs": "create_catalog alter_catalog get_catalog get_catalogs drop_catalog get_metastore_db_uuid",
    "types": "create_type drop_type get_type get_type_all",
    "functions": """create_function alter_function drop_function get_function get_functions get_functions_req
        get_all_functions""",
    "column_statistics": """update_table_column_statistics update_table_column_statistics_req
        update_partition_column_statistics update_partition_column_statistics_req
        get_table_column_statistics get_partition_column_statistics get_table_statistics_req
        get_partitions_statistics_req get_aggr_stats_for set_aggr_stats_for delete_table_column_statistics
        delete_partition_column_statistics delete_column_statistics_req find_columns_with_stats
        update_transaction_statistics""",
    "constraints": """add_primary_key add_foreign_key add_unique_constraint add_not_null_constraint
        add_default_constraint add_check_constraint drop_constraint get_primary_keys get_foreign_keys
        get_unique_constraints get_not_null_constraints get_default_constraints get_check_constraints
        get_all_table_constraints""",
    "indexes": "add_index alter_index drop_index_by_name get_index_by_name get_indexes get_index_names",
    "notifications": """get_next_notification get_current_notificationEventId get_notification_events_count
        fire_listener_event add_write_notification_log add_write_notification_log_in_batch get_all_write_event_info
        cm_recycle""",
    "partition_specs": """add_partitions_pspec get_partitions_pspec get_part_specs_by_filter
        get_partitions_with_specs""",
    "partition_expressions": """get_partitions_by_expr get_partitions_spec_by_expr get_partition_names_req
        get_partition_values""",
    "truncation": "truncate_table truncate_table_req",
    "partition_exchange": "exchange_partition exchange_partitions",
    "roles": """create_role drop_role get_role_names grant_role revoke_role grant_revoke_role list_roles
        get_principals_in_role get_role_grants_for_principal""",
    "privileges": """grant_privileges revoke_privileges grant_revoke_privileges refresh_privileges list_privileges
        get_privilege_set""",
    "tokens": """get_delegation_token renew_delegation_token cancel_delegation_token add_token remove_token get_token
        get_all_token_identifiers add_master_key update_master_key remove_master_key get_master_keys""",
    "partition_events": "markPartitionForEvent isPartitionMarkedForEvent",
    "materialized_views": """update_creation_metadata get_materialization_invalidation_info
        get_materialized_views_for_rewriting get_all_materialized_view_objects_for_rewriting
        get_lock_materialization_rebuild heartbeat_lock_materialization_rebuild""",
    "locks": "lock check_lock unlock show_locks heartbeat",
    "transactions": """open_txns commit_txn abort_txn abort_txns get_open_txns get_open_txns_info get_open_txns_req
        heartbeat_txn_range add_dynamic_partitions get_latest_txnid_in_conflict seed_txn_id""",
    "write_ids": """allocate_table_write_ids get_valid_write_ids get_max_allocated_table_write_id
        add_write_ids_to_min_history seed_write_id repl_tbl_writeid_state""",
    "compactions": """compact compact2 show_compact abort_Compactions find_next_compact find_next_compact2
        update_compactor_state mark_cleaned mark_compacted mark_failed mark_refused set_hadoop_jobid
        get_latest_committed_compaction_info""",
    "hiveserver": """get_active_resource_plan get_all_resource_plans get_resource_plan
        scheduled_query_poll get_scheduled_query
        get_replication_metrics get_replayed_txns_for_policy get_properties
        get_all_stored_procedures get_stored_procedure get_all_packages find_package
        get_dataconnectors get_dataconnector_req
        get_ischema get_schema_version get_schema_latest_version get_schema_all_versions get_schemas_by_cols get_serde
        get_file_metadata get_file_metadata_by_expr""",
    "runtime_statistics": "add_runtime_stats get_runtime_stats",
    "scans": "plan_scan scan_values",
    "cleaning": "clean check_files",
    "undrop": "dropped undrop",
    "writes": "begin_write renew_write end_write publish publish_all",
    "dependencies": "create_dependent_table set_dependency get_dependencies wait_for_partition",
}

_SERVICES = (Metastore, ThriftHiveMetastore, FacebookService)


@dataclass(frozen=True, slots=True)
class Method:
    """One method of the wire: how its arguments are read and its result is written (None: oneway, no answer)."""

    name: str
    domain: str
    arguments: type[Any]
    result: type[Any] | None

    @property
    def fields(self) -> tuple[str, ...]:
        """Lists the names of the arguments, in order."""
        return tuple(field[2] for field in self.arguments.thrift_spec if field is not None)

    @property
    def structs(self) -> tuple[str, ...]:
        """Lists the names of the arguments without which a call says nothing: all structs but the context, which is
        optional.
        """
        fields = [field for field in self.arguments.thrift_spec if field is not None and field[1] == TType.STRUCT]
        return tuple(field[2] for field in fields if field[3][0] is not EnvironmentContext)


def served() -> dict[str, Method]:
    """Returns every served method by its name."""
    return {name: _method(name, domain) for domain, names in SERVED.items() for name in names.split()}


def declared() -> set[str]:
    """Returns the names of all methods of the IDL."""
    suffix = "_args"
    return {name.removesuffix(suffix) for service in _SERVICES for name in vars(service) if name.endswith(suffix)}


def _method(name: str, domain: str) -> Method:
    service = next(service for service in _SERVICES if hasattr(service, f"{name}_args"))
    return Method(name, domain, getattr(service, f"{name}_args"), getattr(service, f"{name}_result", None))
