"""The layers of each package, lowest first. A room is a module, or a package with everything in it.

A module may import rooms on lower floors and modules of its own room. Rooms on the same floor may not import each
other. Every new room must be added to a floor here; `test_imports.py` fails for a module without one.
"""

from __future__ import annotations

FLOORS: dict[str, list[tuple[str, ...]]] = {
    "metastore": [
        (
            "errors",
            "context",
            "identity",
            "text_cache",
            "byte_cache",
            "descriptors",
            "structs",
            "machine",
            "container",
            "units",
        ),
        ("directories",),
        ("domain", "settings"),
        ("encoding", "warehouse", "transport", "client", "monitoring", "security"),
        ("storage.schema", "storage.lazy", "storage.references", "storage.postgres"),
        ("storage.mapping",),
        ("storage.queries",),
        ("storage.repositories",),
        ("storage.caches",),
        ("storage.unit_of_work", "storage.verification", "storage.figures"),
        ("services.service", "services.rules"),
        ("services.files",),
        ("services.cascade", "services.authorization"),
        ("services.entry",),
        ("importing", "exporting"),
        ("operations",),  # declared by handlers, read by the protocol, so that neither imports the other
        ("handlers", "protocol", "background", "web", "security_setup"),
        ("app",),
        ("cli",),
    ],
    "migrations": [("versions", "servers"), ("runner",), ("env",)],
    "spark_client": [
        ("errors",),
        ("context", "sandbox"),
        ("jvm",),
        ("table",),
        ("scan",),
        ("write",),
        ("survey", "joins"),
        ("statements.grammar",),
        ("statements.run",),
        ("streams",),
        ("session",),
        ("writer", "serve", "gateway"),
        ("commands", "demo"),
    ],
}

# Packages that do not follow their floors yet, with the reason. Their tests are expected to fail until they do.
UNFINISHED: dict[str, str] = {}

# Rooms whose modules may not import each other. Code that two of them share belongs on a lower floor.
STRANGERS = ("metastore.storage.repositories", "metastore.services.entry", "migrations.versions")

# Package or room → the modules of other packages that it may import. The longest matching name applies.
NEIGHBOURS: dict[str, tuple[str, ...]] = {
    "metastore": ("thrift_idl",),
    "metastore.domain": (),
    "metastore.transport": (),
    "metastore.warehouse": (),
    "metastore.cli": ("migrations.runner", "thrift_idl"),
    "migrations": (
        "metastore.errors",
        "metastore.settings",
        "metastore.storage.postgres.connect",
        "metastore.storage.postgres.rejection",
    ),
    "migrations.versions": (),
    "spark_client": ("metastore.client", "metastore.domain", "metastore.errors", "thrift_idl"),
    "spark_client.gateway": (
        "metastore.client",
        "metastore.domain",
        "metastore.errors",
        "metastore.machine",
        "thrift_idl",
    ),
}

# Modules with side effects or access to the environment.
WORLD = ("os", "io", "socket", "subprocess", "shutil", "pathlib", "tempfile", "time", "random", "threading", "logging")

# Room → modules that it must not import, although they are on a lower floor or are third-party code.
WALLS: dict[str, tuple[str, ...]] = {
    "metastore.domain": (*WORLD, "sqlalchemy", "psycopg2", "fsspec", "thrift"),
    "metastore.importing": (
        "metastore.warehouse.filesystem",
        "fsspec",
        "metastore.transport",
        "metastore.services.entry",
    ),
    "metastore.handlers": ("metastore.storage", "metastore.warehouse", "sqlalchemy"),
    "metastore.operations": ("metastore.storage", "metastore.services", "metastore.warehouse", "sqlalchemy"),
    "metastore.background": ("metastore.storage", "metastore.warehouse"),
    "metastore.protocol": ("metastore.storage", "metastore.services", "metastore.warehouse", "sqlalchemy"),
    "metastore.services": ("sqlalchemy", "metastore.transport", "metastore.client"),
    "metastore.storage": ("metastore.transport", "metastore.client"),
    "metastore.transport": ("sqlalchemy", "metastore.errors", "metastore.domain"),
    "metastore.web": ("metastore.storage", "metastore.warehouse", "metastore.transport", "sqlalchemy", "thrift"),
    "metastore.warehouse": ("sqlalchemy", "thrift", "metastore.domain", "metastore.settings"),
    "spark_client.statements.grammar": (*WORLD, "pyspark", "py4j", "thrift", "thrift_idl"),
    "spark_client.scan.predicate": (*WORLD, "pyspark", "py4j", "thrift", "thrift_idl"),
}
