"""The callers that each method allows. This table is written by hand, independently of the operations that the handlers
declare, to check them.

The callers are: `stranger`, without rights; one caller for each right on the table, named after it; `creator`, with
CREATE on the database; `owner`, who owns the table; `home`, who owns the database; `officer`, an administrator of
security; `steward`, an administrator of data; `admin`, an administrator of everything.
"""

from __future__ import annotations

from typing import Final

RIGHTS: Final = ("SELECT", "INSERT", "UPDATE", "DELETE", "ALTER", "DROP")
CALLERS: Final = ("stranger", *RIGHTS, "creator", "owner", "home", "officer", "steward", "admin")
_ABOVE: Final = frozenset(("owner", "home", "steward", "admin"))

WHO: Final[dict[str, frozenset[str]]] = {
    "anybody": frozenset(CALLERS),
    "sees the table": frozenset(RIGHTS) | _ABOVE | {"officer"},
    "sees the database": frozenset(RIGHTS) | _ABOVE | {"creator", "officer"},
    "SELECT": _ABOVE | {"SELECT"},
    "INSERT": _ABOVE | {"INSERT"},
    "INSERT or ALTER": _ABOVE | {"INSERT", "ALTER"},
    "INSERT, UPDATE or DELETE": _ABOVE | {"INSERT", "UPDATE", "DELETE"},
    "INSERT, UPDATE, DELETE or ALTER": _ABOVE | {"INSERT", "UPDATE", "DELETE", "ALTER"},
    "INSERT and DELETE": _ABOVE,
    "DELETE": _ABOVE | {"DELETE"},
    "DELETE or DROP": _ABOVE | {"DELETE", "DROP"},
    "ALTER": _ABOVE | {"ALTER"},
    "ALTER and SELECT": _ABOVE,
    "DROP": _ABOVE | {"DROP"},
    "owns the table": _ABOVE - {"steward"},
    "CREATE on the database": frozenset(("creator", "home", "steward", "admin")),
    "CREATE and SELECT": frozenset(("home", "steward", "admin")),
    "names another owner": frozenset(("admin",)),  # the arguments name a user who is none of the callers
    "owns or stewards the database": frozenset(("home", "steward", "admin")),
    "data": frozenset(("steward", "admin")),
    "security": frozenset(("officer", "admin")),
    "grants on the table": frozenset(("owner", "home", "officer", "admin")),
    "admin": frozenset(("admin",)),
    "acquired the lock": frozenset(("admin",)),  # none of the callers did
}

TRUTH: Final[dict[str, str]] = {
    "anybody": """getName getVersion getStatus getStatusDetails aliveSince shutdown reinitialize
        set_ugi getMetaConf setMetaConf get_config_value flushCache get_metastore_db_uuid
        partition_name_to_vals partition_name_to_spec partition_name_has_valid_characters
        get_type get_type_all get_catalog get_catalogs
        get_databases get_databases_req get_all_databases
        get_table_objects_by_name get_all_tables get_tables get_tables_by_type get_tables_ext get_table_meta
        get_table_names_by_filter get_functions get_functions_req get_all_functions
        get_foreign_keys get_next_notification get_current_notificationEventId get_notification_events_count
        get_all_write_event_info get_materialization_invalidation_info get_materialized_views_for_rewriting
        get_all_materialized_view_objects_for_rewriting get_role_names list_privileges
        get_delegation_token renew_delegation_token cancel_delegation_token
        get_active_resource_plan scheduled_query_poll update_transaction_statistics
        get_all_resource_plans get_resource_plan get_scheduled_query
        get_replication_metrics get_replayed_txns_for_policy get_properties
        get_all_stored_procedures get_stored_procedure get_all_packages find_package
        get_dataconnectors get_dataconnector_req
        get_ischema get_schema_version get_schema_latest_version get_schema_all_versions get_schemas_by_cols get_serde
        get_file_metadata get_file_metadata_by_expr
        unlock show_locks open_txns commit_txn abort_txn abort_txns get_open_txns
        get_open_txns_info get_open_txns_req heartbeat_txn_range get_latest_txnid_in_conflict
        add_write_ids_to_min_history show_compact""",
    "acquired the lock": "check_lock heartbeat",
    "sees the table": """get_table get_table_req get_fields get_fields_with_environment_context get_fields_req
        get_schema get_schema_with_environment_context get_schema_req
        get_partition get_partition_with_auth get_partition_req get_partition_by_name get_partitions
        get_partitions_with_auth get_partitions_req get_partitions_ps get_partitions_ps_with_auth
        get_partitions_ps_with_auth_req get_partitions_by_filter get_partitions_by_filter_req
        get_num_partitions_by_filter get_partitions_by_names get_partitions_by_names_req
        get_partition_names fetch_partition_names_req get_partition_names_ps get_partition_names_ps_req
        get_partitions_pspec get_part_specs_by_filter get_partitions_with_specs
        get_partitions_by_expr get_partitions_spec_by_expr get_partition_names_req get_partition_values
        isPartitionMarkedForEvent
        get_primary_keys get_unique_constraints get_not_null_constraints get_default_constraints
        get_check_constraints get_all_table_constraints
        get_valid_write_ids get_max_allocated_table_write_id get_latest_committed_compaction_info
        get_indexes get_index_names get_index_by_name
        lock get_dependencies wait_for_partition get_care_plan get_care_partitions""",
    "sees the database": "get_database get_database_req get_table_objects_by_name_req get_function",
    "SELECT": """find_columns_with_stats get_table_column_statistics get_partition_column_statistics
        get_table_statistics_req
        get_partitions_statistics_req get_aggr_stats_for plan_scan scan_values get_scans""",
    "INSERT": """fire_listener_event add_write_notification_log add_write_notification_log_in_batch begin_write
        add_partitions_pspec renew_write end_write""",
    "INSERT or ALTER": """add_partition add_partition_with_environment_context add_partitions add_partitions_req
        append_partition append_partition_with_environment_context append_partition_by_name
        append_partition_by_name_with_environment_context append_partition_req markPartitionForEvent
        alter_partition alter_partition_with_environment_context alter_partitions
        alter_partitions_with_environment_context alter_partitions_req
        update_table_column_statistics update_table_column_statistics_req
        update_partition_column_statistics update_partition_column_statistics_req set_aggr_stats_for
        refresh_column_statistics
        delete_table_column_statistics delete_partition_column_statistics delete_column_statistics_req""",
    "INSERT, UPDATE or DELETE": "add_dynamic_partitions",
    "INSERT, UPDATE, DELETE or ALTER": """allocate_table_write_ids get_lock_materialization_rebuild record_care
        heartbeat_lock_materialization_rebuild""",
    # The generated requests of `publish` retire a location that is not the write's own: INSERT does not suffice.
    "INSERT and DELETE": "exchange_partition exchange_partitions publish publish_all",
    "DELETE": "truncate_table truncate_table_req",
    "DELETE or DROP": """drop_partition drop_partition_with_environment_context drop_partition_by_name
        drop_partition_by_name_with_environment_context drop_partition_req drop_partitions_req expire_partitions""",
    "ALTER": """rename_partition rename_partition_req drop_constraint add_primary_key add_unique_constraint
        add_not_null_constraint add_default_constraint add_check_constraint alter_index drop_index_by_name
        compact compact2 clean check_files""",
    "ALTER and SELECT": "add_foreign_key set_dependency update_creation_metadata",
    "DROP": "drop_table drop_table_with_environment_context drop_table_req",
    "owns the table": "refresh_privileges",
    "names another owner": """alter_table alter_table_with_environment_context alter_table_with_cascade
        alter_table_req alter_database alter_database_req commit_tables""",
    "CREATE on the database": "",
    "CREATE and SELECT": """create_table create_table_with_environment_context create_table_with_constraints
        create_table_req translate_table_dryrun create_dependent_table add_index""",
    "grants on the table": "grant_privileges revoke_privileges grant_revoke_privileges get_privilege_set",
    "owns or stewards the database": "dropped drop_database drop_database_req alter_function drop_function",
    "data": """create_catalog alter_catalog drop_catalog create_database create_database_req create_type drop_type
        abort_Compactions find_next_compact find_next_compact2 update_compactor_state mark_cleaned
        mark_compacted mark_failed mark_refused set_hadoop_jobid""",
    "security": """create_role drop_role grant_role revoke_role grant_revoke_role get_principals_in_role list_roles
        get_role_grants_for_principal""",
    "admin": """getCounters getCounter setOption getOption getOptions getCpuProfile
        add_token remove_token get_token get_all_token_identifiers add_master_key update_master_key
        remove_master_key get_master_keys cm_recycle seed_txn_id seed_write_id repl_tbl_writeid_state
        add_runtime_stats get_runtime_stats""",
}
# The generated request of `undrop` has a new name. The service checks who dropped the table, and its owners.
TRUTH["CREATE on the database"] = "create_function undrop"
