"""Trino's own tests of its Hive connector, from Maven Central, with this server as their metastore."""
