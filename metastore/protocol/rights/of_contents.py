"""Rights on what tables hold: partitions, statistics, constraints, the data that we plan and publish."""

from __future__ import annotations

from metastore.domain.names import table_name
from metastore.domain.privileges import Right
from metastore.protocol.rights import needs, shown
from metastore.protocol.rights.amended import asked_by_caller, granted_with, owned_by_caller, together
from metastore.protocol.rights.binding import given, request, structs, table
from metastore.protocol.rights.rule import Declarations

SELECT, INSERT, UPDATE, DELETE = Right.SELECT, Right.INSERT, Right.UPDATE, Right.DELETE
CREATE, ALTER, DROP, OWNERSHIP = Right.CREATE, Right.ALTER, Right.DROP, Right.OWNERSHIP

declare = Declarations()

# Partitions

declare(
    """get_partition get_partition_req get_partition_by_name get_partitions get_partitions_req get_partitions_ps
    get_partitions_by_filter get_partitions_by_filter_req get_num_partitions_by_filter
    get_partitions_by_names get_partitions_by_names_req
    get_partition_names fetch_partition_names_req get_partition_names_ps get_partition_names_ps_req
    get_partitions_pspec get_part_specs_by_filter get_partitions_with_specs
    get_partitions_by_expr get_partitions_spec_by_expr get_partition_names_req get_partition_values
    isPartitionMarkedForEvent""",
    table(),
)
declare(
    "get_partition_with_auth get_partitions_with_auth get_partitions_ps_with_auth",
    table(),
    amend=asked_by_caller(lambda given: given, "user_name", "group_names"),
)
declare(
    "get_partitions_ps_with_auth_req",
    table(),
    amend=asked_by_caller(lambda given: given.req, "userName", "groupNames"),
)
declare(
    "add_partition add_partition_with_environment_context",
    structs("new_part", INSERT, ALTER),
    given(lambda given: needs.partition_places([given.new_part])),
    is_change=True,
)
declare(
    "add_partitions",
    structs("new_parts", INSERT, ALTER),
    given(lambda given: needs.partition_places(given.new_parts)),
    is_change=True,
)
declare(
    "add_partitions_req",
    table(INSERT, ALTER),
    request(lambda asked: needs.partition_places(asked.parts, table_name(asked.dbName, asked.tblName, asked.catName))),
    is_change=True,
)
declare("add_partitions_pspec", given(lambda given: needs.partition_specs(given.new_parts)), is_change=True)
declare(
    """append_partition append_partition_with_environment_context append_partition_by_name
    append_partition_by_name_with_environment_context append_partition_req markPartitionForEvent""",
    table(INSERT, ALTER),
    is_change=True,
)
declare(
    """drop_partition drop_partition_with_environment_context drop_partition_by_name
    drop_partition_by_name_with_environment_context drop_partition_req drop_partitions_req""",
    table(DELETE, DROP),
    is_change=True,
)
declare(
    "alter_partition alter_partition_with_environment_context",
    table(INSERT, ALTER),
    given(lambda given: needs.partition_places([given.new_part], table_name(given.db_name, given.tbl_name))),
    is_change=True,
)
declare(
    "alter_partitions alter_partitions_with_environment_context",
    table(INSERT, ALTER),
    given(lambda given: needs.partition_places(given.new_parts, table_name(given.db_name, given.tbl_name))),
    is_change=True,
)
declare(
    "alter_partitions_req",
    table(INSERT, ALTER),
    request(
        lambda asked: needs.partition_places(asked.partitions, table_name(asked.dbName, asked.tableName, asked.catName))
    ),
    is_change=True,
)
declare(
    "rename_partition",
    table(ALTER),
    given(lambda given: needs.partition_places([given.new_part], table_name(given.db_name, given.tbl_name))),
    is_change=True,
)
declare(
    "rename_partition_req",
    table(ALTER),
    request(
        lambda asked: needs.partition_places([asked.newPart], table_name(asked.dbName, asked.tableName, asked.catName))
    ),
    is_change=True,
)
declare("exchange_partition exchange_partitions", given(needs.exchange), is_change=True)


# Statistics

declare(
    "update_table_column_statistics update_partition_column_statistics",
    given(lambda given: needs.statistics([given.stats_obj])),
    is_change=True,
)
declare(
    "update_table_column_statistics_req update_partition_column_statistics_req",
    given(lambda given: needs.statistics(given.req.colStats)),
    is_change=True,
)
declare("set_aggr_stats_for", request(lambda asked: needs.statistics(asked.colStats)), is_change=True)
declare(
    """get_table_column_statistics get_partition_column_statistics get_table_statistics_req
    get_partitions_statistics_req get_aggr_stats_for""",
    table(SELECT),
)
declare("find_columns_with_stats", table())
declare(
    "delete_table_column_statistics delete_partition_column_statistics delete_column_statistics_req",
    table(INSERT, ALTER),
    is_change=True,
)
declare("update_transaction_statistics")


# Constraints

declare("add_primary_key", request(lambda asked: needs.new_constraints(asked.primaryKeyCols)), is_change=True)
declare("add_foreign_key", request(lambda asked: needs.new_constraints(asked.foreignKeyCols)), is_change=True)
declare(
    "add_unique_constraint", request(lambda asked: needs.new_constraints(asked.uniqueConstraintCols)), is_change=True
)
declare(
    "add_not_null_constraint", request(lambda asked: needs.new_constraints(asked.notNullConstraintCols)), is_change=True
)
declare(
    "add_default_constraint", request(lambda asked: needs.new_constraints(asked.defaultConstraintCols)), is_change=True
)
declare("add_check_constraint", request(lambda asked: needs.new_constraints(asked.checkConstraintCols)), is_change=True)
declare("drop_constraint", table(ALTER), is_change=True)
declare(
    """get_primary_keys get_unique_constraints get_not_null_constraints get_default_constraints
    get_check_constraints""",
    table(),
)
declare("get_all_table_constraints", table(), shown=shown.all_constraints)
declare("get_foreign_keys", shown=shown.foreign_keys)


# Indexes

declare(
    "add_index",
    given(lambda given: needs.new_index(given.new_index)),
    given(lambda given: needs.new_table(given.index_table)),
    amend=together(
        owned_by_caller(lambda given: given.index_table, "owner", "ownerType"),
        granted_with(lambda given: given.index_table),
    ),
    is_change=True,
)
declare(
    "alter_index",
    given(lambda given: needs.altered_index(table_name(given.dbname, given.base_tbl_name), given.new_idx)),
    is_change=True,
)
declare("drop_index_by_name", table(ALTER), is_change=True)
declare("get_index_by_name get_indexes get_index_names", table())


# Our own service

declare("plan_scan", table(SELECT))
declare("scan_values", request(lambda asked: needs.scanned(asked.scan)))
declare("begin_write", table(INSERT), is_change=True)
declare("renew_write", request(lambda asked: needs.write(asked.queryId)), readers=False)
declare("end_write", given(lambda given: needs.write(given.queryId)), readers=False)
declare("publish", given(lambda given: needs.publications([given.request])), is_change=True)
declare("publish_all", given(lambda given: needs.publications(given.requests)), is_change=True)
declare("clean", request(needs.cleaned), is_change=True)
declare("check_files", request(needs.cleaned), is_change=True)
declare("dropped", request(needs.dropped))
declare("undrop", request(needs.undropped), is_change=True)
declare(
    "create_dependent_table",
    request(needs.dependent),
    amend=owned_by_caller(lambda given: given.request, "owner"),
    is_change=True,
)
declare("set_dependency", request(needs.changed_dependency), is_change=True)
declare("get_dependencies", table(), shown=shown.dependencies)
declare("wait_for_partition", table())
