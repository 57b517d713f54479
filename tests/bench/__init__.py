"""Benchmarks (`make bench`): this metastore beside Hive's, on one PostgreSQL, operation by operation."""
