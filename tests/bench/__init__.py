"""Benchmarks (`make bench`): this metastore compared with Hive's, on one PostgreSQL, operation by operation."""
