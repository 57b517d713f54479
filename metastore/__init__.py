"""A standalone, Thrift-compatible Hive Metastore on PostgreSQL."""
