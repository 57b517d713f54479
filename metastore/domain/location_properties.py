"""Properties of tables, partitions, serdes and databases from which clients read the location of data or metadata.

A client reads these locations with its own rights, or with those of its service, so a property can lead to the data of
others just as the location field can. Authorization checks both in the same way.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final
from urllib.parse import unquote

READERS: Final[Mapping[str, str]] = {
    "path": "Spark: directory of a data source table (serde property). Paimon, Delta and Hudi tables in Spark",
    "paths": "Spark: several directories of a data source table",
    "basepath": "Spark: directory in which partition columns begin; Hudi",
    "location": "Spark: synonym of path in the properties of a data source table; Iceberg: directory of a namespace",
    "external.location": "connectors that keep the directory of an external table as a property",
    "external_location": "Trino: directory of an external table",
    "metadata_location": "Iceberg in every client: current metadata file, which names all data files",
    "previous_metadata_location": "Iceberg in every client: metadata file of the previous version",
    "write.data.path": "Iceberg: directory of new data files",
    "write.metadata.path": "Iceberg: directory of new metadata files",
    "write.object-storage.path": "Iceberg before 1.0: directory of new data files",
    "write.folder-storage.path": "Iceberg before 1.0: directory of new data files",
    "avro.schema.url": "Hive, Spark and Trino: Avro schema",
    "avroschemaurl": "Spark: Avro schema of a data source table",
    "rowvalidationxsdpath": "Spark: XML schema of a data source table",
    "base_path": "Hudi: directory of the table",
    "hoodie.base.path": "Hudi: directory of the table",
    "hoodie.table.base.path": "Hudi: directory of the table",
    "hoodie.datasource.write.path": "Hudi: directory of the table",
    "hoodie.metadata.base.path": "Hudi: directory of the metadata table",
    "hoodie.bootstrap.base.path": "Hudi: directory of the files from which a table was bootstrapped",
    "flink.path": "Flink: directory of a file system table",
    "flink.warehouse": "Flink: directory of the Iceberg or Paimon catalog to which a table belongs",
    "data-file.external-paths": "Paimon: directories of data files outside of the table's",
    "storage.location.template": "Trino and Athena: location of the partitions of partition projection",
    "hive.sql.dbcp.password.keystore": "Hive: file with the passwords of a JDBC table",
    "hive.sql.dbcp.password.uri": "Hive: secret with the password of a JDBC table",
}
"""Names in lower case, with the clients that read them. Spark and Flink ignore the case of names.

Kudu, HBase, Kafka and JDBC tables have no such property: they name servers and tables.
"""

_UNSET: Final = ("avro.schema.url", "none")
"""Hive's Avro tables have this value to ignore the property, because it cannot be removed."""
_LISTS: Final = frozenset(("data-file.external-paths",))
"""Properties that name several locations, separated by commas."""
_NOT_FILES: Final = frozenset(
    ("http", "https", "jdbc", "thrift", "kafka", "ldap", "tcp", "ssl", "zookeeper", "mongodb", "postgresql", "mysql")
)
"""Schemes of services. Any other scheme can be that of a file system."""
_URI: Final = re.compile(r"\s*([A-Za-z][A-Za-z0-9+.-]*):/")
_PATTERN: Final = frozenset("*?[{")  # ${ contains one of them
# Properties in which clients store texts that are not locations.
_TEXTS: Final = frozenset(("comment", "transient_lastddltime"))


def is_relative(location: str) -> bool:
    """Returns whether a location is a path below its base: without scheme, `..`, variables, patterns, and leading `/`,
    `~` or `%`.
    """
    is_name = ":" not in location and not location.startswith(("/", "~", "%")) and not is_template(location)
    return is_name and ".." not in location.split("/")


def is_template(location: str) -> bool:
    """Returns whether Hadoop's clients replace a location by others, which can be outside of its directory.

    `${name}` becomes the value of a property of the table, of a setting, or of an environment variable (Hadoop's
    Configuration), such as `../another directory`. A pattern (`*`, `?`, `[…]`, `{…}`) becomes all files that match:
    `{../another directory,x}`. Names of partitions contain these characters only in escaped form.
    """
    return not _PATTERN.isdisjoint(location)


def named_locations(properties: Mapping[str, str | None]) -> Iterator[str]:
    """Yields the locations in properties, as stored and with decoded URIs. URLs of web servers are not locations."""
    for name, value in properties.items():
        folded = name.lower()
        if folded in READERS and value and (folded, value) != _UNSET and not _is_web(value):
            texts = value.split(",") if folded in _LISTS else [value]
            yield from texts
            yield from (decoded for text in texts if (decoded := unquote(text)) != text)


def unknown_locations(properties: Mapping[str, str | None]) -> Iterator[tuple[str, str]]:
    """Yields the other properties whose values are URIs of a file system, with their values."""
    for name, value in properties.items():
        match = _URI.match(value or "")
        folded = name.lower()
        if match and match[1].lower() not in _NOT_FILES and folded not in READERS and folded not in _TEXTS:
            yield name, value or ""


def _is_web(value: str) -> bool:
    return value.lower().startswith(("http://", "https://"))
