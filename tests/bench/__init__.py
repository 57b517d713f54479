"""Benchmarks (`make bench`): ours beside the real Hive Metastore, on one PostgreSQL, operation by operation."""
