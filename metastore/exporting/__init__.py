"""Exports the catalog as rows for a database of Hive's own metastore."""
