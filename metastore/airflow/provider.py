"""What Airflow's manager of providers reads: the connection type and the modules."""

from __future__ import annotations

from typing import Any


def get_provider_info() -> dict[str, Any]:
    """Returns the description of the provider, in the form of Airflow's `provider_info.schema.json`."""
    integration = "Metastore"
    modules = {
        kind: [{"integration-name": integration, "python-modules": [f"metastore.airflow.{module}"]}]
        for kind, module in (("hooks", "hook"), ("sensors", "sensors"), ("triggers", "triggers"), ("operators", "care"))
    }
    return {
        "package-name": "metastore",
        "name": integration,
        "description": "Tasks and assets that start when partitions arrive in a Hive metastore.",
        "integrations": [{"integration-name": integration, "external-doc-url": "", "tags": ["apache"]}],
        "connection-types": [
            {
                "connection-type": "metastore",
                "hook-class-name": "metastore.airflow.hook.MetastoreHook",
                "hook-name": integration,
            }
        ],
        **modules,
    }
