"""The house: each package's rooms on floors, low to high. A module imports what lies below its floor, and its own room.

Rooms of one floor do not know each other. A room is a module, or a package with all that is in it. Whoever adds a room
puts it on a floor here: a module without one fails the test.
"""

from __future__ import annotations

FLOORS: dict[str, list[tuple[str, ...]]] = {
    "metastore": [
        ("errors", "context", "identity", "text_cache", "structs", "machine"),
        ("directories",),
        ("domain", "settings"),
        ("encoding", "warehouse", "transport", "client", "monitoring", "security"),
        ("storage.schema", "storage.cache", "storage.references", "storage.postgres"),
        ("storage.mapping",),
        ("storage.queries",),
        ("storage.repositories",),
        ("storage.unit_of_work", "storage.verification", "storage.figures"),
        ("services.service", "services.rules"),
        ("services.files",),
        ("services.cascade", "services.authorization"),
        ("services.entry",),
        ("operations",),  # what handlers declare and the protocol reads: neither imports the other
        ("handlers", "protocol", "background", "web"),
        ("app",),
        ("cli",),
    ],
    "migrations": [("versions", "servers"), ("runner",), ("env",)],
    "spark_client": [
        ("errors",),
        ("context",),
        ("jvm",),
        ("table",),
        ("scan",),
        ("write",),
        ("survey", "joins"),
        ("statements.grammar",),
        ("statements.run",),
        ("streams",),
        ("session",),
        ("writer", "serve"),
        ("commands", "demo"),
    ],
}

# Packages whose rooms do not stand on these floors yet: the test of their floors must fail until they do.
UNFINISHED: dict[str, str] = {}

# Rooms whose modules do not know each other: what two of them need has a place on a lower floor.
STRANGERS = ("metastore.storage.repositories", "metastore.services.entry", "migrations.versions")

# Package or room → what of the other packages it may import. The most exact name decides.
NEIGHBOURS: dict[str, tuple[str, ...]] = {
    "metastore": ("thrift_idl",),
    "metastore.domain": (),
    "metastore.transport": (),
    "metastore.warehouse": (),
    "metastore.cli": ("migrations.runner", "thrift_idl"),
    "migrations": ("metastore.errors", "metastore.settings", "metastore.storage.postgres.rejection"),
    "migrations.versions": (),
    "spark_client": ("metastore.client", "metastore.domain", "metastore.errors", "thrift_idl"),
}

# What touches the world outside of a function's arguments.
WORLD = ("os", "io", "socket", "subprocess", "shutil", "pathlib", "tempfile", "time", "random", "threading", "logging")

# Room → what it must not import although it lies below, or is no code of ours.
WALLS: dict[str, tuple[str, ...]] = {
    "metastore.domain": (*WORLD, "sqlalchemy", "psycopg2", "fsspec", "thrift"),
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
