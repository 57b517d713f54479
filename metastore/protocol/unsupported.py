"""Methods that are not served, with the reason. Their calls get UNKNOWN_METHOD, and the connection stays usable."""

from __future__ import annotations

from typing import NamedTuple


class Unsupported(NamedTuple):
    """Methods about a noun that are not served for the same reason."""

    reason: str
    methods: str


REFUSED: dict[str, Unsupported] = {
    "compactions": Unsupported(
        "only Hive's compactor deletes files of ACID tables and counts their deltas",
        "submit_for_cleanup update_compaction_metrics_data remove_compaction_metrics_data",
    ),
    "resource_plans": Unsupported(
        "workload management controls HiveServer2's own daemons",
        """create_resource_plan alter_resource_plan drop_resource_plan validate_resource_plan
        create_wm_trigger alter_wm_trigger drop_wm_trigger get_triggers_for_resourceplan create_wm_pool
        alter_wm_pool drop_wm_pool create_or_update_wm_mapping drop_wm_mapping
        create_or_drop_wm_trigger_to_pool_mapping""",
    ),
    "schema_registry": Unsupported(
        "no engine uses Hive's schema registry",
        """create_ischema alter_ischema drop_ischema add_schema_version drop_schema_version
        map_schema_version_to_serde set_schema_version_state add_serde""",
    ),
    "scheduled_queries": Unsupported(
        "HiveServer2 runs scheduled queries, not the metastore",
        "scheduled_query_maintenance scheduled_query_progress",
    ),
    "replication": Unsupported(
        "replication metrics belong to Hive's own replication",
        "add_replication_metrics",
    ),
    "procedures": Unsupported(
        "only HPL/SQL uses stored procedures",
        "create_stored_procedure drop_stored_procedure add_package drop_package",
    ),
    "data_connectors": Unsupported(
        "query engines connect to other databases themselves",
        """create_dataconnector alter_dataconnector drop_dataconnector create_dataconnector_req alter_dataconnector_req
        drop_dataconnector_req""",
    ),
    "file_metadata": Unsupported(
        "the file metadata cache was Hive's experiment with HBase",
        "put_file_metadata clear_file_metadata cache_file_metadata",
    ),
    "properties": Unsupported(
        "no engine uses Hive 4's property namespaces",
        "set_properties",
    ),
}


def refused() -> dict[str, tuple[str, str]]:
    """Returns the noun and the reason of each unsupported method, by name."""
    return {name: (noun, refusal.reason) for noun, refusal in REFUSED.items() for name in refusal.methods.split()}
