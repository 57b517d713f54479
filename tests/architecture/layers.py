"""The layers of each package, lowest first. A layer has components: modules, or packages with everything in them.

A module may import components of lower layers and modules of its own component. Components of one layer may not import
each other. Every new component must be added to a layer here; `test_imports.py` fails for a module without one.
"""

from __future__ import annotations

LAYERS: dict[str, list[tuple[str, ...]]] = {
    "metastore": [
        (
            "errors",
            "context",
            "identity",
            "bounded_fetch",
            "caches",
            "addresses",
            "descriptors",
            "machine",
            "environment",
        ),
        ("domain", "settings"),
        ("encoding", "warehouse", "transport", "client", "monitoring", "security", "policy", "sinks"),
        ("airflow", "storage.schema", "storage.references", "storage.postgres"),
        ("storage.mapping",),
        ("storage.queries",),
        ("storage.repositories", "storage.pages", "storage.importing", "storage.export"),
        ("storage.unit_of_work", "storage.verification", "storage.figures"),
        ("services.rules",),
        ("services.files",),
        ("services.cascade", "services.authorization"),
        ("services.service",),  # base classes of the services
        ("services",),  # its own modules
        ("importing", "exporting", "console", "iceberg"),
        ("operations",),  # declared by handlers, read by the protocol, so that neither imports the other
        ("handlers", "protocol", "web"),
        ("app",),
        ("cli",),
        ("__main__",),
    ],
    "migrations": [("versions", "servers"), ("runner",), ("env",)],
    "spark_client": [
        ("errors", "notebook"),
        ("context",),
        ("jvm",),
        ("table",),
        ("scan",),
        ("write",),
        ("survey", "joins", "waiting", "care_columns", "care_undeclared"),
        ("care", "care_statistics"),
        ("statements.grammar",),
        ("statements.run",),
        ("streams",),
        ("session",),
        ("writer", "serve", "gateway"),
        ("commands", "demo"),
    ],
}

# Components whose modules may not import each other. Code that two of them share belongs to a lower layer. `.*` stands
# for the modules of a package that are in no other component.
INDEPENDENT = (
    "metastore.storage.repositories",
    "metastore.storage.pages",
    "metastore.services.*",
    "migrations.versions",
)

# Packages behind one door → the only modules or packages that may import them.
FENCED: dict[str, tuple[str, ...]] = {
    "metastore.domain.kryo": ("metastore.services.partition_expressions",),
    "metastore.handlers.legacy": ("metastore.app.handlers",),
    # The client reads files; the server has metastore.warehouse.
    "metastore.client.reading": ("metastore.client", "metastore.cli.files"),
    "metastore.services.legacy": ("metastore.app.handlers", "metastore.handlers.legacy"),
}

# Package or component → the modules of other packages that it may import. The longest matching name applies.
OTHER_PACKAGES: dict[str, tuple[str, ...]] = {
    "metastore": ("thrift_idl",),
    "metastore.domain": (),
    "metastore.transport": (),
    "metastore.warehouse": (),
    "metastore.app": ("migrations.runner", "thrift_idl"),
    "metastore.cli": ("migrations.runner", "thrift_idl"),
    "migrations": (
        "metastore.errors",
        "metastore.settings",
        "metastore.storage.postgres.connect",
        "metastore.storage.postgres.exhaustion",
        "metastore.storage.postgres.rejection",
    ),
    "migrations.versions": (),
    "spark_client": ("metastore.client", "metastore.domain", "metastore.errors", "thrift_idl"),
    "spark_client.gateway": (
        "metastore.client",
        "metastore.addresses",
        "metastore.domain",
        "metastore.errors",
        "metastore.machine",
        "thrift_idl",
    ),
}

# Modules with side effects or access to the environment.
WORLD = ("os", "io", "socket", "subprocess", "shutil", "pathlib", "tempfile", "time", "random", "threading", "logging")

# Component → modules that it must not import, although they are in a lower layer or are third-party code.
FORBIDDEN: dict[str, tuple[str, ...]] = {
    "metastore.domain": (*WORLD, "sqlalchemy", "psycopg2", "fsspec", "thrift"),
    # Runs in Airflow's processes, which have neither the server's packages nor its database.
    "metastore.airflow": (
        "metastore.encoding",
        "metastore.monitoring",
        "metastore.policy",
        "metastore.security",
        "metastore.settings",
        "metastore.transport",
        "metastore.warehouse",
        "sqlalchemy",
    ),
    "metastore.importing": (
        "metastore.warehouse.filesystem",
        "fsspec",
        "metastore.transport",
        "metastore.services.*",
    ),
    "metastore.cli": ("sqlalchemy.text", "sqlalchemy.select", "sqlalchemy.exc", "psycopg2"),
    "metastore.exporting": ("sqlalchemy", "psycopg2"),
    "metastore.console": ("sqlalchemy", "metastore.transport", "metastore.client", "metastore.services.*"),
    "metastore.iceberg": ("metastore.services", "metastore.storage", "metastore.warehouse", "sqlalchemy", "starlette"),
    "metastore.handlers": ("metastore.storage", "metastore.warehouse", "sqlalchemy"),
    "metastore.operations": ("metastore.storage", "metastore.services", "metastore.warehouse", "sqlalchemy"),
    "metastore.protocol": ("metastore.storage", "metastore.services", "metastore.warehouse", "sqlalchemy"),
    "metastore.services": ("sqlalchemy", "metastore.transport", "metastore.client"),
    "metastore.storage": ("metastore.transport", "metastore.client"),
    "metastore.transport": ("sqlalchemy", "metastore.errors", "metastore.domain"),
    "metastore.web": ("metastore.storage", "metastore.warehouse", "metastore.transport", "sqlalchemy", "thrift"),
    "metastore.warehouse": ("sqlalchemy", "thrift", "metastore.domain", "metastore.settings"),
    "spark_client.statements.grammar": (*WORLD, "pyspark", "py4j", "thrift", "thrift_idl"),
    "spark_client.scan.predicate": (*WORLD, "pyspark", "py4j", "thrift", "thrift_idl"),
}
