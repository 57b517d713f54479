"""Rights on what belongs to no table: the server, roles, tokens, transactions, the notification log."""

from __future__ import annotations

from metastore.domain.names import table_name
from metastore.domain.permissions import Need
from metastore.domain.privileges import Right
from metastore.protocol.rights import needs, shown
from metastore.protocol.rights.amended import granted_by_caller, held_by_caller
from metastore.protocol.rights.binding import admin, given, request, table
from metastore.protocol.rights.rule import Declarations

SELECT, INSERT, UPDATE, DELETE = Right.SELECT, Right.INSERT, Right.UPDATE, Right.DELETE
CREATE, ALTER, DROP, OWNERSHIP = Right.CREATE, Right.ALTER, Right.DROP, Right.OWNERSHIP

declare = Declarations()

# Anybody

declare("getName getVersion getStatus getStatusDetails aliveSince shutdown reinitialize")
declare("getCounters getCounter setOption getOption getOptions getCpuProfile", admin)
declare("set_ugi getMetaConf setMetaConf flushCache get_metastore_db_uuid")
declare("get_config_value", shown=shown.configuration)
declare("partition_name_to_vals partition_name_to_spec partition_name_has_valid_characters")
declare(
    """get_current_notificationEventId get_active_resource_plan scheduled_query_poll
    get_all_resource_plans get_resource_plan get_scheduled_query
    get_replication_metrics get_replayed_txns_for_policy get_properties
    get_all_stored_procedures get_stored_procedure get_all_packages find_package
    get_dataconnectors get_dataconnector_req
    get_ischema get_schema_version get_schema_latest_version get_schema_all_versions get_schemas_by_cols get_serde
    get_file_metadata get_file_metadata_by_expr"""
)
declare("get_type get_type_all")

# They show what was asked, by whomever.
declare("add_runtime_stats", admin, is_change=True)
declare("get_runtime_stats", admin)


# The notification log

declare("get_next_notification get_notification_events_count", in_service=True)
declare("fire_listener_event", table(INSERT), is_change=True)
declare("add_write_notification_log", table(INSERT), is_change=True)
declare("add_write_notification_log_in_batch", table(INSERT), is_change=True)
declare("get_all_write_event_info", shown=shown.write_events)
declare("cm_recycle", admin)


# Roles and privileges

declare("create_role drop_role", admin, is_change=True)
declare("get_role_names", shown=shown.role_names)
declare("grant_role revoke_role", given(lambda given: needs.role(given.role_name)), is_change=True)
declare("grant_revoke_role", request(lambda asked: needs.role(asked.roleName)), is_change=True)
declare(
    "list_roles",
    given(lambda given: needs.principal(given.principal_name, given.principal_type)),
    shown=shown.list_of_roles,
)
declare(
    "get_role_grants_for_principal",
    request(lambda asked: needs.principal(asked.principal_name, asked.principal_type)),
    shown=shown.role_grants,
)
declare("get_principals_in_role", request(lambda asked: needs.role(asked.roleName)))
declare(
    "grant_privileges revoke_privileges",
    given(lambda given: needs.granted(given.privileges)),
    amend=granted_by_caller(lambda given: given.privileges),
    is_change=True,
)
declare(
    "grant_revoke_privileges",
    request(lambda asked: needs.granted(asked.privileges)),
    amend=granted_by_caller(lambda given: given.request.privileges),
    is_change=True,
)
declare(
    "refresh_privileges",
    given(lambda given: [Need(needs.privilege_object(given.objToRefresh), (OWNERSHIP,))]),
    given(lambda given: needs.granted(given.grantRequest.privileges if given.grantRequest else None)),
    amend=granted_by_caller(lambda given: given.grantRequest.privileges),
    is_change=True,
)
declare("list_privileges", shown=shown.privileges)
declare(
    "get_privilege_set", given(lambda given: needs.principals_on(given.hiveObject, given.user_name, given.group_names))
)


# Tokens: who gets one is what `services.entry.tokens` decides

declare("get_delegation_token renew_delegation_token cancel_delegation_token", is_change=True, readers=True)
declare("add_token remove_token", admin, is_change=True)
declare("get_token get_all_token_identifiers get_master_keys", admin)
declare("add_master_key update_master_key remove_master_key", admin, is_change=True)


# Locks, transactions, compactions

declare(
    "lock",
    request(needs.locked),
    amend=held_by_caller(lambda given: given.rqst),
    readers=lambda given: needs.locks_to_read(given.rqst),
)
declare("check_lock", request(lambda asked: [needs.own_locks(asked.lockid)]))
declare("unlock", request(lambda asked: [needs.own_locks(asked.lockid)]))
declare("heartbeat", request(needs.heartbeat))
declare("show_locks", shown=shown.locks)
declare(
    "open_txns",
    amend=held_by_caller(lambda given: given.rqst),
    readers=lambda given: needs.opened_to_read(given.rqst),
)
declare(
    "commit_txn abort_txn",
    request(lambda asked: [needs.own_transactions(asked.txnid)]),
    is_change=True,
    readers=True,
)
declare(
    "abort_txns",
    request(lambda asked: [needs.own_transactions(*asked.txn_ids or ())]),
    is_change=True,
    readers=True,
)
declare("get_open_txns get_open_txns_req")
declare("get_open_txns_info", shown=shown.transactions)
declare("heartbeat_txn_range", request(needs.own_range))
declare(
    "add_dynamic_partitions",
    table(INSERT, UPDATE, DELETE),
    request(lambda asked: [needs.own_transactions(asked.txnid)]),
    is_change=True,
)
declare("get_latest_txnid_in_conflict", given(lambda given: [needs.own_transactions(given.txnId)]))
declare("seed_txn_id seed_write_id repl_tbl_writeid_state", admin, is_change=True)
declare(
    "allocate_table_write_ids",
    table(INSERT, UPDATE, DELETE, ALTER),
    request(lambda asked: [needs.own_transactions(*asked.txnIds or ())]),
    readers=False,
)
declare("get_valid_write_ids", request(lambda asked: needs.full_names(asked.fullTableNames)))
declare("get_max_allocated_table_write_id", table())
declare("add_write_ids_to_min_history")
declare("compact compact2", table(ALTER), is_change=True)
declare(
    "show_compact",
    shown=shown.tables(lambda _, compaction: table_name(compaction.dbname, compaction.tablename), "compacts"),
)
declare(
    """abort_Compactions find_next_compact find_next_compact2 update_compactor_state mark_cleaned mark_compacted
    mark_failed mark_refused set_hadoop_jobid""",
    admin,
    is_change=True,
)
declare("get_latest_committed_compaction_info", table())
