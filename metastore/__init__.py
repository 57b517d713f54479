"""A standalone Hive Metastore on PostgreSQL."""
